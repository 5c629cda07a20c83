/* onnx.c - the model's own file, with the plan in ONNX's annotations. */
#include "core/code/code.h"

#include "core/base/intern.h"
#include "core/session/onnx_devices.h"

#include <inttypes.h>

/* Whether a list of sizes can hold the name. */
static bool is_plain(Str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (strchr(",=# \t\r\n", name.s[i]))
            return false;
    return name.n > 0;
}

const char *code_onnx_dims(Arena *arena, const Session *session)
{
    const DimBindings *dims = &session->options.dims;
    Buf text = buf_new(arena);

    for (int i = 0; i < dims->n; i++) {
        bool again = !is_plain(dims->at[i].name); /* a later one wins */
        for (int k = i + 1; k < dims->n; k++)
            again |= str_eq(dims->at[i].name, dims->at[k].name);
        if (!again)
            buf_printf(&text, "%s%.*s=%" PRId64, text.n > 0 ? "," : "", STR_ARG(dims->at[i].name),
                       dims->at[i].size);
    }
    return text.n > 0 ? text.s : NULL;
}

/* Which files have to lie beside the copy, as they do beside the model. */
static void note_weights(const Session *session, ExportNotes *notes)
{
    enum { NAMED = 3 };
    const Graph *graph = session->graph;
    Intern *files = intern_new(notes->arena);
    Buf text = buf_new(notes->arena);

    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int32_t at = graph->tensors[t].data;
        const char *file = at < 0 ? NULL : graph->data[at].location;
        int n = intern_count(files);
        if (file && intern_put(files, file, strlen(file)) == n && n < NAMED)
            buf_printf(&text, "%s%s", n > 0 ? ", " : "", file);
    }
    int more = intern_count(files) - NAMED;
    if (more > 0)
        buf_printf(&text, " and %d files more", more);
    if (text.n > 0)
        export_note(notes, "the weights stay in %s: keep that beside the model to run it", text.s);
}

bool code_onnx(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    OnnxLosses losses = {0};

    if (!onnx_devices_write(session, out, &losses, err))
        return false;
    for (int loss = 0; loss < LOSS_COUNT; loss++)
        if (losses.n[loss] > 0 && loss != LOSS_WEIGHTS)
            export_note(notes, "%s: %d, the first %s", onnx_loss_text((OnnxLoss)loss),
                        losses.n[loss], losses.first[loss]);
    note_weights(session, notes);
    return true;
}
