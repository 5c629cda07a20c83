/* onnx.c - the model's own file, with the plan in ONNX's annotations. */
#include "core/code/code.h"

#include "core/session/onnx_devices.h"

#include <inttypes.h>

/* Notes the sizes that the plan was made with and that the file does not contain. */
static void note_sizes(const Session *session, ExportNotes *notes)
{
    const DimBindings *dims = &session->options.dims;
    Buf text = buf_new(notes->arena);

    for (int i = 0; i < dims->n; i++) {
        bool again = false; /* a later one wins */
        for (int k = i + 1; k < dims->n; k++)
            again |= str_eq(dims->at[i].name, dims->at[k].name);
        if (!again)
            buf_printf(&text, "%s%.*s=%" PRId64, text.n > 0 ? "," : "", STR_ARG(dims->at[i].name),
                       dims->at[i].size);
    }
    if (text.n > 0)
        export_note(notes, "sizes of free dims are not in the file: open it with --dim %s", text.s);
}

bool code_onnx(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    OnnxLosses losses = {0};

    if (!onnx_devices_write(session, out, &losses, err))
        return false;
    for (int loss = 0; loss < LOSS_COUNT; loss++)
        if (losses.n[loss] > 0)
            export_note(notes, "%s: %d, the first %s", onnx_loss_text((OnnxLoss)loss),
                        losses.n[loss], losses.first[loss]);
    note_sizes(session, notes);
    return true;
}
