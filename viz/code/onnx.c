/* onnx.c - the model's own file, with the plan in ONNX's annotations. */
#include "viz/code/code.h"

#include "core/plan/onnx_devices.h"

bool code_onnx(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    OnnxLosses losses = {0};

    if (!onnx_devices_write(request->drawing.session, out, &losses, err))
        return false;
    for (int loss = 0; loss < LOSS_COUNT; loss++)
        if (losses.n[loss] > 0)
            export_note(notes, "%s: %d, the first %s", onnx_loss_text((OnnxLoss)loss),
                        losses.n[loss], losses.first[loss]);
    return true;
}
