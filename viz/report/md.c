#include "viz/report/report.h"

bool report_md(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)request, (void)out, (void)notes;
    return error_kind(err, ERROR_UNSUPPORTED, "nothing of the kind is written yet");
}
