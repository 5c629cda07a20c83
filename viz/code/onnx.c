#include "viz/code/code.h"

bool code_onnx(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)request, (void)out, (void)notes;
    return error_kind(err, ERROR_UNSUPPORTED, "nothing of the kind is written yet");
}
