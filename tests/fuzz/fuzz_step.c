/* fuzz_step.c - any bytes as a model in one of three forms: where its training step can be derived,
 * its plan is used in one of all ways (use_plan.h), --to of every system among them.
 *
 * Bytes of the input, in order: the form and the mesh, how it trains, what is done with the plan;
 * the rest is the file: ONNX, StableHLO, or the JSON of torch.export.
 */
#include "core/model/onnx.h"
#include "core/peers/stablehlo/reader.h"
#include "core/peers/torch_export/reader.h"
#include "tests/fuzz/use_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static const char *const trains[] = {
    "adamw,loss=auto",
    "sgd",
    "auto",
    "momentum,precision=bf16,clip=1.0",
    "adam,precision=fp16,scale=dynamic,loss=y",
    "lion,freeze=*bias",
    "adagrad,grads=bf16,ignore_index=-100,label_smoothing=0.1",
    "rmsprop,loss=none such",
    "nadam,loss=auto,lr=0",
    NULL, /* forward only */
};
static const char *const meshes[] = {"x=1", "dp=2", "dp=2,tp=2", "a=3,b=2"};
enum {
    TRAINS = sizeof trains / sizeof *trains,
    MESHES = sizeof meshes / sizeof *meshes,
    FORMS = 3
};

static Graph *read_model(Arena *arena, int form, Str text, Error *err)
{
    static DimBindings dims;
    FileShardings shardings = {.mesh = NULL};
    Findings notes = {0};
    ModelFile file = {.arena = arena,
                      .path = form == 1 ? "fuzz.mlir" : "fuzz.graph.json",
                      .text = text,
                      .dims = &dims,
                      .notes = &notes,
                      .shardings = &shardings};
    dims = (DimBindings){0};
    return form == 0   ? onnx_read(arena, "fuzz.onnx", text, err)
           : form == 1 ? stablehlo_read(&file, err)
                       : torch_export_read(&file, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const SessionHooks hooks = {.machine = round_machine};
    if (n_bytes < 3)
        return 0;
    Arena *arena = arena_new();
    Error err = {0};
    Graph *graph =
        read_model(arena, bytes[0] % FORMS, (Str){(const char *)bytes + 3, n_bytes - 3}, &err);
    if (graph && graph->n_ops <= OPS_MAX) {
        SessionOptions options = {.mesh = meshes[bytes[0] / FORMS % MESHES],
                                  .train = trains[bytes[1] % TRAINS]};
        Session *session = session_open_graph(graph, &options, &hooks, &err);
        if ((session == NULL) != error_is_set(&err))
            wrong("open");
        if (session)
            use_plan(arena, session, bytes[2]);
        session_close(session);
    }
    arena_free(arena);
    return 0;
}
