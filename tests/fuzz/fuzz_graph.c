/* fuzz_graph.c - any bytes as an ONNX file: where it can be planned, its plan is used in one of all
 * ways (use_plan.h).
 *
 * The first byte of the input chooses the mesh, the second what is done with the plan; the rest is
 * the file.
 */
#include "core/model/onnx.h"
#include "tests/fuzz/use_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const SessionHooks hooks = {.machine = round_machine};
    static const char *const meshes[] = {"x=1", "dp=2", "dp=2,tp=2", "a=3,b=2"};
    if (n_bytes < 2)
        return 0;
    Arena *arena = arena_new();
    Error err = {0};
    Graph *graph = onnx_read(arena, "fuzz.onnx", (Str){(const char *)bytes + 2, n_bytes - 2}, &err);
    if (graph && graph->n_ops <= OPS_MAX) {
        SessionOptions options = {.mesh = meshes[bytes[0] % 4]};
        Session *session = session_open_graph(graph, &options, &hooks, &err);
        if ((session == NULL) != error_is_set(&err))
            wrong("open");
        if (session)
            use_plan(arena, session, bytes[1]);
        session_close(session);
    }
    arena_free(arena);
    return 0;
}
