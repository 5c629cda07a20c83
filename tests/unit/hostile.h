/* hostile.h - a session of a small graph with names that want to be markup, code or more lines. */
#ifndef TESTS_UNIT_HOSTILE_H
#define TESTS_UNIT_HOSTILE_H

#include "tests/unit/unit.h"

#include "core/session/session.h"
#include "scripts/hooks.h"

/* y = x * w, z = relu(y). */
static inline Graph *hostile_graph(Arena *arena, const char *const *names)
{
    GraphBuilder *builder = graph_builder_new(arena, "hostile\"\\\n.onnx");
    int32_t x = graph_tensor(builder, str_from(names[0])),
            w = graph_tensor(builder, str_from(names[1])),
            y = graph_tensor(builder, str_from(names[2])),
            z = graph_tensor(builder, str_from(names[3]));
    Shape shape = {.n_dims = 2, .dim = {64, 64}};
    graph_add_input(builder, x, DT_F32, (DeclaredDim[]){{64, 0}, {64, 0}}, 2);
    graph_add_initializer(builder, w, DT_F32, &shape, (TensorData){0});
    int32_t none = graph_add_attrs(builder, NULL, 0), in[2] = {x, w};
    graph_add_op(builder, STR("MatMul"), str_from(names[4]), str_from(names[5]), in, 2, &y, 1,
                 none);
    graph_add_op(builder, STR("Relu"), str_from(names[3]), str_from(names[5]), &y, 1, &z, 1, none);
    graph_add_output(builder, z);
    Error err = {0};
    Graph *graph = graph_seal(builder, &err);
    if (!graph)
        fail_msg("%s", err.text);
    return graph;
}

/* On two devices, w cut by its rows: y is a sum that is due. Closed before scripts and arena. */
static inline Session *hostile_session(Arena *arena, Scripts **scripts)
{
    char *longest = arena_array(arena, char, 10001);
    memset(longest, 'a', 10000);
    const char *const names[] = {"x\"},{\"ph\":\"X\"",      longest,
                                 "y\\u0000\n\r\t\x01\x7f,", "<script>&amp;</script>",
                                 "\xe2\x80\xae evil",       "\xff\xfe%s%n"};
    *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(*scripts);
    SessionOptions options = {.model = "hostile", .mesh = "tp=2"};
    Error err = {0};
    Session *session = session_open_graph(hostile_graph(arena, names), &options, &hooks, &err);
    if (!session) {
        fail_msg("%s", err.text);
        return NULL;
    }
    uint8_t atom = 0;
    Cut cut = cut_by(64, &atom, 1, session->mesh);
    Decision pin = {.kind = PIN_TENSOR_DIM,
                    .place = graph_find_tensor(session->graph, str_from(names[1])),
                    .cut = &cut,
                    .origin = {.kind = ORIGIN_USER, .file = "", .text = names[2]}};
    assert_true(session_apply(session, &pin, 1, &err));
    assert_true(session->plan->moved->n_reshards > 0);
    return session;
}

#endif
