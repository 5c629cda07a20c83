/* code.h - the plan as what its user runs next: a function a system, a file each.
 *
 * What a system cannot say of a sharding is a comment where it stands and a note beside the file;
 * it is never said wrongly. Names are those of the model's parameters and values; where a system
 * wants another form of them, the text has both.
 */
#ifndef VIZ_CODE_CODE_H
#define VIZ_CODE_CODE_H

#include "viz/export.h"

bool code_dtensor(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool code_jax(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool code_shardy(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool code_paddle(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool code_nnscaler(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool code_lua(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool code_onnx(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);

#endif
