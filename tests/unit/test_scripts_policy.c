/* Policies in Lua on a small model: what they leave in the journal, and what is refused. */
#include "core/rules/registry.h"
#include "tests/unit/sandbox_text.h"

#include "core/session/session.h"
#include "scripts/lua_policy.h"
#include "scripts/register/lua_register.h"

/* ---- a small model: x -> fc1 (Gemm) -> Tanh -> fc2 (MatMul of a transposed weight) -> Softmax
 * ---- */

static int32_t add_op(GraphBuilder *builder, const char *op_type, const char *path,
                      const int32_t *inputs, int n_inputs, const char *output)
{
    int32_t out = graph_tensor(builder, str_from(output));
    const char *name = arena_printf(graph_builder_graph(builder)->arena, "%s_%s", path, op_type);
    graph_add_op(builder, str_from(op_type), str_from(name), str_from(path), inputs, n_inputs, &out,
                 1, 0);
    return out;
}

static Graph *small_graph(Arena *arena)
{
    GraphBuilder *builder = graph_builder_new(arena, "small.onnx");
    Graph *graph = graph_builder_graph(builder);
    graph->opset = 17;
    int32_t x = graph_tensor(builder, STR("x"));
    DeclaredDim dims[] = {{-1, names_intern(graph->names, STR("batch"))}, {16, 0}};
    graph_add_input(builder, x, DT_F32, dims, 2);
    int32_t w1 = add_weight(builder, "net.fc1.weight", 16, 48);
    int32_t b1 = add_weight(builder, "net.fc1.bias", 48, 0);
    int32_t w2 = add_weight(builder, "onnx::W_7", 12, 48);
    int32_t h = add_op(builder, "Gemm", "net.fc1", (int32_t[]){x, w1, b1}, 3, "h");
    int32_t t = add_op(builder, "Tanh", "net.act", &h, 1, "t");
    int32_t v = add_op(builder, "Transpose", "net.fc2", &w2, 1, "v");
    int32_t y = add_op(builder, "MatMul", "net.fc2", (int32_t[]){t, v}, 2, "y");
    int32_t out = add_op(builder, "Softmax", "net.soft", &y, 1, "out");
    graph_add_output(builder, out);
    Error err = {0};
    graph = graph_seal(builder, &err);
    assert_non_null(graph);
    return graph;
}

typedef struct {
    Arena *arena;
    Session session;
    RuleBook rules;
} Small;

static Small small_session(const char *mesh)
{
    Arena *arena = arena_new();
    Small small = {.arena = arena, .rules = rule_book_new(arena)};
    Session *session = &small.session;
    session->model_arena = session->journal_arena = arena;
    session->graph = small_graph(arena);
    session->rules = small.rules;
    DimBindings dims = {0};
    vec_push(arena, &dims, (DimBinding){STR("batch"), 8});
    Error err = {0};
    session->inferred = infer(arena, session->graph, small.rules.registry, &dims, false, &err);
    assert_non_null(session->inferred);
    session->naming = naming_new(arena, session->inferred);
    Source source = {"--mesh", str_from(mesh)};
    session->mesh = mesh_parse(arena, &source, &err);
    assert_non_null(session->mesh);
    return small;
}

/* "net.fc1.weight 1 48/tp 3" a decision: tensor, dim, cut, line; of ops "net.fc1_Gemm n 48/tp 3".
 */
static void format_decision(const Session *session, const Decision *decision, Buf *out)
{
    bool tensor = decision->kind == PIN_TENSOR_DIM || decision->kind == UNPIN_TENSOR_DIM;
    bool pin = decision->kind == PIN_TENSOR_DIM || decision->kind == PIN_INDEX_DIM;
    assert_int_equal(decision->origin.kind, ORIGIN_POLICY);
    if (tensor)
        buf_printf(out, "%s %d ", tensor_name(session->graph, decision->place), decision->dim);
    else
        buf_printf(out, "%s %s ", op_name(session->graph, decision->place),
                   inferred_space(session->inferred, decision->place)->index[decision->dim].name);
    if (pin)
        cut_format(decision_cut(decision), session->mesh, out);
    else
        buf_puts(out, "unpin");
    buf_printf(out, "%s%s @%d\n", decision->store ? " store" : "", decision->open ? " open" : "",
               decision->origin.line);
}

static void format_run(Small *small, const char *script, Buf *out)
{
    Session *session = &small->session;
    Journal journal = {0};
    Error err = {0};
    Sandbox *sandbox = sandbox_with("p.lua", script, out);
    if (!register_run(sandbox, &small->rules, &err) ||
        !policy_run(sandbox, session, &journal, &err))
        format_error(&err, out);
    for (int i = 0; i < journal.n_done; i++)
        format_decision(session, &journal.decisions.at[i], out);
    for (int i = 0; i < session->notes.n; i++) {
        const Finding *note = &session->notes.at[i];
        buf_printf(out, "%s %s %s [%s] @%d\n", level_name(note->level), note->code, note->text,
                   note->hint, note->line);
    }
    sandbox_free(sandbox);
}

#define PAS(body) "function PAS(graph, resource)\n" body "\nreturn graph end"
/* In these the node of an operator is found by find(graph, "Gemm"); PAS begins in line 4. */
#define FIND                                                                                       \
    "local function find(graph, name)\n"                                                           \
    "for _, node in ipairs(graph:nodes()) do if node.name == name then return node end end\n"      \
    "end\n"
#define CUT(node, config)                                                                          \
    "local node = find(graph, '" node "')\nlocal subs = graph:partition(node, "                    \
    "node:algorithm('dim'), {" config "})"

typedef struct {
    const char *name, *mesh, *script, *want;
} PolicyRow;

static PolicyRow policy_rows[] = {
    {"shard_by_number", "dp=2,tp=4", PAS("graph:shard('net.fc1.weight', {[1] = 'tp'})"),
     "net.fc1.weight 1 48/tp @2\n"},
    {"shard_by_index_name", "tp=4", PAS("graph:shard('*.fc1.{weight,bias}', {n = 'tp'})"),
     "net.fc1.weight 1 48/tp @2\nnet.fc1.bias 0 48/tp @2\n"},
    {"shard_by_path_reads_through_views", "tp=4", PAS("graph:shard('net.fc2.weight', {k = 'tp'})"),
     "v 0 48/tp @2\n"},
    {"own_name_of_a_transposed_weight", "tp=4", PAS("graph:shard('onnx::W_7', {k = 'tp'})"),
     "v 0 48/tp @2\n"},
    {"list_of_axes_is_major_first", "dp=2,tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {'tp', 'dp'}})"), "net.fc1.weight 1 48/tp.dp @2\n"},
    {"sub_axis", "tp=4", PAS("graph:shard('net.fc1.weight', {n = 'tp:(1)2'})"),
     "net.fc1.weight 1 48/tp:(1)2 @2\n"},
    {"interleave", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', interleave = 3}})"),
     "net.fc1.weight 1 (3)(16/tp) @2\n"},
    {"blocks", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', blocks = {32, 8, 8}}})"),
     "net.fc1.weight 1 (32|8|8)/tp @2\n"},
    {"sizes", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', sizes = {20, 10, 10, 8}}})"),
     "net.fc1.weight 1 48/tp{20,10,10,8} @2\n"},
    {"sizes_in_units_of_parts", "tp=2",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', interleave = 2, unit = 8, sizes = {16, "
         "8}}})"),
     "net.fc1.weight 1 (2)(24/tp{16,8}) @2\n"},
    {"equal_sizes_are_chunks", "tp=2",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', sizes = {24, 24}}})"),
     "net.fc1.weight 1 48/tp @2\n"},
    {"unit", "tp=4", PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', unit = 8}})"),
     "net.fc1.weight 1 (6/tp)(8) @2\n"},
    {"unit_that_divides_is_plain", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', unit = 4}})"),
     "net.fc1.weight 1 48/tp @2\n"},
    {"interleave_and_unit", "tp=2",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', interleave = 2, unit = 8}})"),
     "net.fc1.weight 1 (2)(3/tp)(8) @2\n"},
    {"store_and_open", "dp=2,tp=4",
     PAS("graph:shard('net.fc1.weight', {[0] = {axis = 'dp', store = true}, "
         "[1] = {axis = 'tp', open = true}})"),
     "net.fc1.weight 0 16/dp store @2\nnet.fc1.weight 1 48/tp open @2\n"},
    {"no_axes_pin_whole", "tp=4", PAS("graph:pin('x', {[0] = {}})"), "x 0 8 @2\n"},
    {"uneven_is_legal", "tp=5", PAS("graph:shard('net.fc1.weight', {n = 'tp'})"),
     "net.fc1.weight 1 48/tp @2\n"},
    {"dims_from_the_end", "tp=4", PAS("graph:shard('net.fc1.weight', {[-1] = 'tp'})"),
     "net.fc1.weight 1 48/tp @2\n"},
    {"pin_a_node", "tp=4", FIND PAS("graph:pin(find(graph, 'MatMul'), {k = 'tp'})"),
     "net.fc2_MatMul k 48/tp @5\n"},
    {"shard_a_list", "dp=2",
     PAS("graph:shard(graph:params(), {[0] = {axis = 'dp', store = true}})"),
     "net.fc1.weight 0 16/dp store @2\nnet.fc1.bias 0 48/dp store @2\nonnx::W_7 0 12/dp store "
     "@2\n"},
    {"inputs_and_parts", "dp=2",
     PAS("for _, t in ipairs(graph:inputs()) do print(t.name, t.dim_names[1], t.shape[1]) end\n"
         "graph:pin('net.fc1.in', {[0] = 'dp'})\ngraph:pin('net.fc2.out', {m = 'dp'})"),
     "2: x\tbatch\t8\nx 0 8/dp @3\ny 0 8/dp @4\n"},
    {"the_same_twice_is_one", "tp=4",
     PAS("for i = 1, 3 do\ngraph:shard('net.fc1.weight', {n = 'tp'}) end"),
     "net.fc1.weight 1 48/tp @3\n"},
    {"unpin_by_pattern", "dp=2,tp=4",
     PAS("graph:pin('x', {[0] = 'dp'})\ngraph:unpin('{x,none}', 0)\ngraph:pin('x', {[0] = 'tp'})"),
     "x 0 8/dp @2\nx 0 unpin @3\nx 0 8/tp @4\n"},
    {"unpin_then_pin", "dp=2,tp=4",
     PAS("graph:pin('x', {[0] = 'dp'})\ngraph:unpin('x', 0)\ngraph:pin('x', {[0] = 'tp'})"),
     "x 0 8/dp @2\nx 0 unpin @3\nx 0 8/tp @4\n"},
    {"unpin_all", "dp=2", PAS("graph:unpin('x')"), "x 0 unpin @2\nx 1 unpin @2\n"},
    {"pattern_without_match_is_noted", "tp=4", PAS("graph:shard('*.fc3.weight', {n = 'tp'})"),
     "warning pattern-matched-nothing pattern '*.fc3.weight' matches no tensor [nearest: "
     "'net.fc2.weight'] @2\n"},
    {"tensors_without_match_are_none", "tp=4", PAS("print(#graph:tensors('*.fc3.*'))"), "2: 0\n"},
    {"what_nodes_say", "tp=4",
     FIND PAS("local node = find(graph, 'MatMul')\n"
              "print(node.name, node.path, node.op, #node:inputs(), node:output(0).name)\n"
              "print(node:input(1).is_param, node:input(0).is_param, node:input(1).label)\n"
              "print(node:input(0):producer().name, node:output(0):consumers()[1].name)\n"
              "print(node == find(graph, 'MatMul'), node == find(graph, 'Gemm'), node)"),
     "6: MatMul\tnet.fc2\tnet.fc2_MatMul\t2\ty\n7: true\tfalse\tnet.fc2.weight\n"
     "8: Tanh\tSoftmax\n9: true\tfalse\tMatMul 'net.fc2_MatMul'\n"},
    {"what_the_resource_says", "dp=2,tp=4",
     PAS("print(resource.ngpus, resource.mesh.tp, resource.mesh[1].name, resource.mesh[1].size, "
         "#resource.mesh, resource.mesh.pp)"),
     "2: 8\t4\tdp\t2\t2\tnil\n"},

    {"partition_by_axis", "dp=2,tp=4", FIND PAS(CUT("MatMul", "idx = 1, dim = 1, axis = 'tp'")),
     "net.fc2_MatMul n 12/tp @6\n"},
    {"partition_by_num", "dp=2,tp=4", FIND PAS(CUT("MatMul", "idx = 0, dim = 1, num = 4")),
     "net.fc2_MatMul k 48/tp @6\n"},
    {"partition_by_num_of_all", "dp=2,tp=4",
     FIND PAS(CUT("MatMul", "idx = 0, dim = 0, num = resource.ngpus")),
     "net.fc2_MatMul m 8/dp.tp @6\n"},
    {"partition_by_output", "dp=2,tp=4", FIND PAS(CUT("Gemm", "idx = 3, dim = -1, num = 4")),
     "net.fc1_Gemm n 48/tp @6\n"},
    {"partition_gives_sub_nodes_in_mesh_order", "dp=2,tp=4",
     FIND PAS(
         CUT("MatMul", "idx = 0, dim = 1, num = 4") "\n"
                                                    "print(#subs, subs[4])\nfor i, sub in "
                                                    "ipairs(subs) do graph:assign(sub, i - 1) end\n"
                                                    "graph:assign(subs[2], 5)"),
     "7: 4\tMatMul 'net.fc2_MatMul'[3]\n8: script: 'net.fc2_MatMul' would run on devices 0,5,2,3, "
     "which do not form a part of the mesh [parts of 4 devices: 0,1,2,3 (dp=0); 0,1,4,5 "
     "(tp:(1)2=0); 0,2,4,6 (tp:(2)2=0)]\n"},
    {"partition_of_sub_nodes_nests", "dp=2,tp=4",
     FIND PAS(
         CUT("Gemm", "idx = 1, dim = 1, axis = 'tp'") "\nfor _, sub in ipairs(subs) do\n"
                                                      "graph:partition(sub, sub:algorithm('dim'), "
                                                      "{idx = 0, dim = 0, axis = 'dp'}) end"),
     "net.fc1_Gemm n 48/tp @6\nnet.fc1_Gemm m 8/dp @8\n"},
    {"partition_twice_of_one_dim", "dp=2,tp=4",
     FIND PAS(
         CUT("Gemm", "idx = 1, dim = 1, axis = 'tp'") "\nfor _, sub in ipairs(subs) do\n"
                                                      "graph:partition(sub, sub:algorithm('dim'), "
                                                      "{idx = 1, dim = 1, num = 2}) end"),
     "net.fc1_Gemm n 48/tp.dp @8\n"},
    {"replicate", "dp=2,tp=4", FIND PAS("print(#graph:replicate(find(graph, 'MatMul')))"),
     "5: 8\nnet.fc2_MatMul m 8 @5\nnet.fc2_MatMul k 48 @5\nnet.fc2_MatMul n 12 @5\n"},
    {"partition_then_replicate", "dp=2,tp=4",
     FIND PAS(CUT("MatMul", "idx = 0, dim = 0, axis = 'dp'") "\n"
                                                             "for _, sub in ipairs(subs) do "
                                                             "print(#graph:replicate(sub)) end"),
     "7: 4\n7: 4\nnet.fc2_MatMul m 8/dp @6\nnet.fc2_MatMul k 48 @7\nnet.fc2_MatMul n 12 @7\n"},
    {"satisfy_answers", "tp=5",
     FIND PAS("local algorithm = find(graph, 'MatMul'):algorithm('dim')\n"
              "print(algorithm:satisfy{idx = 0, dim = 1, num = 1})\n"
              "print(select(3, algorithm:satisfy{idx = 0, dim = 1, num = 5}))\n"
              "print(select(3, algorithm:satisfy{idx = 3, dim = 1, num = 5}))"),
     "6: true\n7: not_divisible\n8: out_of_range\n"},
    {"a_mesh_of_one", "x=1",
     FIND PAS(
         CUT("MatMul", "idx = 0, dim = 1, num = resource.ngpus") "\n"
                                                                 "print(graph:assign(subs[1], 0))"),
     "7: true\nnet.fc2_MatMul k 48 @6\n"},
    {"register_only", "tp=2", "register_op('a b -> a b', {name = 'mine'})", ""},
};

static PolicyRow refusal_rows[] = {
    {"unknown_axis", "dp=2,tp=4", PAS("graph:shard('x', {[0] = 'tpp'})"),
     "2: script: dim 0 of 'x': this mesh has no axis 'tpp' [did you mean 'tp'? the mesh has dp=2, "
     "tp=4]\n"},
    {"axis_twice_in_a_cut", "dp=2", PAS("graph:shard('x', {[0] = {'dp', 'dp'}})"),
     "2: script: dim 0 of 'x': axis 'dp' is used twice [an axis shards one dim, once; a part of it "
     "is tp:(1)2 the mesh has dp=2]\n"},
    {"axis_on_two_dims", "dp=2", PAS("graph:shard('x', {[0] = 'dp', [1] = 'dp'})"),
     "2: script: dim 1 of 'x' is pinned 16/dp, but one of its axes shards dim 0 of 'x' in line 2 "
     "[an axis can shard only one dim of a tensor; graph:unpin the other dim first]\n"},
    {"two_pins_that_contradict", "dp=2,tp=4",
     PAS("graph:pin('x', {[0] = 'dp'})\ngraph:pin('x', {[0] = 'tp'})"),
     "3: script: dim 0 of 'x' is pinned 8/dp in line 2 and 8/tp here [pin it once, or graph:unpin "
     "it in between]\n"},
    {"dim_out_of_range", "tp=4", PAS("graph:shard('x', {[2] = 'tp'})"),
     "2: script: 'x' has 2 dims, no dim 2 [its dims: 0 of 8, 1 of 16; -1 is the last]\n"},
    {"no_such_index_dim", "tp=4", PAS("graph:shard('net.fc1.weight', {v = 'tp'})"),
     "2: script: no op that uses 'net.fc1.weight' has an index dim 'v' [index dims there: k, n]\n"},
    {"interleave_that_does_not_divide", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', interleave = 5}})"),
     "2: script: n of 'net.fc1.weight': 48 elements do not divide by interleave=5 times unit=1\n"},
    {"blocks_of_another_size", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', blocks = {32, 8}}})"),
     "2: script: n of 'net.fc1.weight': the blocks have 40 elements, but the dim has 48\n"},
    {"blocks_in_units", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', unit = 2, blocks = {32, 16}}})"),
     "2: script: n of 'net.fc1.weight': blocks cannot be combined with interleave, unit or "
     "sizes\n"},
    {"sizes_that_do_not_add_up", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', sizes = {20, 10, 10, 9}}})"),
     "2: script: n of 'net.fc1.weight': the sizes add up to 49, but what is sharded has 48 "
     "elements\n"},
    {"sizes_of_other_ranks", "tp=4",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', sizes = {20, 28}}})"),
     "2: script: n of 'net.fc1.weight': 2 sizes are given, but the axes make 4 parts\n"},
    {"sizes_that_are_no_units", "tp=2",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', unit = 4, sizes = {22, 26}}})"),
     "2: script: n of 'net.fc1.weight': a size of 22 does not divide by unit=4\n"},
    {"size_of_nothing", "tp=2",
     PAS("graph:shard('net.fc1.weight', {n = {axis = 'tp', sizes = {48, 0}}})"),
     "2: script: n of 'net.fc1.weight': 'sizes[2]' must be an integer, 1 or more\n"},
    {"unknown_option", "tp=4", PAS("graph:shard('x', {[0] = {axes = 'tp'}})"),
     "2: script: dim 0 of 'x': a cut has no option 'axes' [options: axis, interleave, unit, "
     "blocks, sizes, zigzag, ring, store, keep, open, priority]\n"},
    {"no_dims", "tp=4", PAS("graph:shard('x', {})"),
     "2: script: no dim is given: write for example {[0] = \"dp\"} or {n = \"tp\"}\n"},
    {"pin_of_nothing", "tp=4", PAS("graph:pin('net.fc3.weight', {n = 'tp'})"),
     "2: script: no tensor is named 'net.fc3.weight' [did you mean 'net.fc1.weight'?]\n"},
    {"dot_for_colon", "tp=4", PAS("graph.shard('x', {[0] = 'tp'})"),
     "2: script: bad argument #1 to 'shard' (the graph stands before a colon: graph:NAME(..), not "
     "graph.NAME(..))\n"},
    {"unknown_method", "tp=4", PAS("graph:shards('x', {[0] = 'tp'})"),
     "2: script: a graph has no 'shards' [did you mean 'shard'?]\n"},
    {"method_that_changes_the_graph", "tp=4", PAS("graph:sequential({})"),
     "2: script: a plan does not change the graph: there is no graph:sequential [ops run in "
     "program order on each device; see graph:schedule]\n"},
    {"unknown_field", "tp=4", PAS("for _, node in ipairs(graph:nodes()) do print(node.nme) end"),
     "2: script: a node has no 'nme' [did you mean 'name'?]\n"},
    {"frozen_index_dim", "tp=4", FIND PAS("graph:pin(find(graph, 'Softmax'), {d = 'tp'})"),
     "5: script: index dim d of 'net.soft_Softmax' is frozen: it cannot be sharded [index dims "
     "that can be sharded: "
     "d0 8]\n"},
    {"partition_frozen", "tp=4", FIND PAS(CUT("Softmax", "idx = 0, dim = 1, num = 4")),
     "6: script: 'net.soft_Softmax': dim 1 of idx 0 is frozen: it cannot be sharded [(idx, dim) "
     "that can be partitioned: (0, 0) d0 of 8; unused axes: tp=4]\n"},
    {"partition_idx_out_of_range", "tp=4", FIND PAS(CUT("MatMul", "idx = 3, dim = 0, num = 4")),
     "6: script: 'net.fc2_MatMul': it has 3 operands, no idx 3 [(idx, dim) that can be "
     "partitioned: (0, "
     "0) m of 8, (0, 1) k of 48, (1, 1) n of 12; unused axes: tp=4]\n"},
    {"partition_dim_out_of_range", "tp=4", FIND PAS(CUT("MatMul", "idx = 1, dim = 2, num = 4")),
     "6: script: 'net.fc2_MatMul': idx 1 has 2 dims, no dim 2 [(idx, dim) that can be "
     "partitioned: (0, "
     "0) m of 8, (0, 1) k of 48, (1, 1) n of 12; unused axes: tp=4]\n"},
    {"partition_does_not_divide", "tp=5", FIND PAS(CUT("MatMul", "idx = 0, dim = 1, num = 5")),
     "6: script: 'net.fc2_MatMul': index dim k has 48 elements, which 5 does not divide [(idx, "
     "dim) that can be partitioned: (0, 0) m of 8, (0, 1) k of 48, (1, 1) n of 12; unused axes: "
     "tp=5]\n"},
    {"partition_of_a_part_does_not_divide", "dp=8,tp=4",
     FIND PAS(CUT("MatMul",
                  "idx = 0, dim = 1, num = 4") "\n"
                                               "graph:partition(subs[1], node:algorithm('dim'), "
                                               "{idx = 0, dim = 1, num = 8})"),
     "7: script: 'net.fc2_MatMul': index dim k has 12 elements, which 8 does not divide [(idx, "
     "dim) that can be partitioned: (0, 0) m of 8, (0, 1) k of 48, (1, 1) n of 12; unused axes: "
     "dp=8]\n"},
    {"num_could_be_several", "dp=4,tp=4", FIND PAS(CUT("MatMul", "idx = 0, dim = 1, num = 4")),
     "6: script: num = 4 fits several axes: give axis = \"NAME\", or assign the sub-nodes [the "
     "mesh is dp=4,tp=4]\n"},
    {"num_is_no_axis", "dp=2,tp=4", FIND PAS(CUT("MatMul", "idx = 0, dim = 1, num = 3")),
     "6: script: 'net.fc2_MatMul': num = 3 fits no unused axis: give axis = \"NAME\", or assign "
     "the sub-nodes [the mesh is dp=2,tp=4]\n"},
    {"num_against_axis", "dp=2,tp=4",
     FIND PAS(CUT("MatMul", "idx = 0, dim = 1, num = 2, axis = 'tp'")),
     "6: script: 'net.fc2_MatMul': num = 2, but axis has 4 devices [(idx, dim) that can be "
     "partitioned: "
     "(0, 0) m of 8, (0, 1) k of 48, (1, 1) n of 12; unused axes: dp=2, tp=4]\n"},
    {"partition_lacks_num", "tp=4", FIND PAS(CUT("MatMul", "idx = 0, dim = 1")),
     "6: script: 'net.fc2_MatMul': a partition needs idx, dim, and num or axis [(idx, dim) that "
     "can be partitioned: (0, 0) m of 8, (0, 1) k of 48, (1, 1) n of 12; unused axes: tp=4]\n"},
    {"sub_nodes_cut_differently", "dp=2,tp=4",
     FIND PAS(CUT("MatMul", "idx = 0, dim = 1, num = 4") "\nlocal algo = node:algorithm('dim')\n"
                                                         "graph:partition(subs[1], algo, {idx = 0, "
                                                         "dim = 0, num = 2})\n"
                                                         "graph:partition(subs[2], algo, {idx = 1, "
                                                         "dim = 1, num = 2})"),
     "9: script: 'net.fc2_MatMul' is already partitioned differently [all sub-nodes of a node must "
     "be partitioned alike; a sub-node may be partitioned by another axis]\n"},
    {"axis_again_in_a_sub_node", "dp=2,tp=4",
     FIND PAS(
         CUT("MatMul", "idx = 0, dim = 1, axis = 'tp'") "\nlocal algo = node:algorithm('dim')\n"
                                                        "graph:partition(subs[1], algo, {idx = 0, "
                                                        "dim = 0, axis = 'tp'})"),
     "8: script: 'net.fc2_MatMul': it is already partitioned by axis tp [(idx, dim) that can be "
     "partitioned: "
     "(0, 0) m of 8, (0, 1) k of 48, (1, 1) n of 12; unused axes: dp=2]\n"},
    {"assign_elsewhere", "dp=2,tp=4",
     FIND PAS(CUT("MatMul", "idx = 0, dim = 1, num = 4") "\ngraph:assign(subs[1], 1)"),
     "7: script: sub-node 1 of 'net.fc2_MatMul' has no device [assign all 4 of them, or none]\n"},
    {"assign_outside_of_the_mesh", "tp=4", FIND PAS("graph:assign(find(graph, 'Tanh'), 4)"),
     "5: script: the mesh has no device 4 [it has 4 devices, from 0]\n"},
    {"algorithm_of_another_node", "tp=4",
     FIND PAS("graph:partition(find(graph, 'Gemm'), find(graph, 'Tanh'):algorithm('dim'), {})"),
     "5: script: the algorithm belongs to another node\n"},
    {"unknown_algorithm", "tp=4", FIND PAS("find(graph, 'Gemm'):algorithm('halo')"),
     "5: script: there is no algorithm 'halo', only 'dim'\n"},
    {"no_pas", "tp=4", "local x = 1",
     "0: script: the policy defines no function PAS(graph, resource)\n"},
    {"pas_returns_nothing", "tp=4", "function PAS(graph) end",
     "1: script: PAS must return the graph, but returned a nil\n"},
    {"a_failing_policy_decides_nothing", "tp=4",
     PAS("graph:shard('x', {[0] = 'tp'})\nerror('later')"), "3: script: later\n"},
    {"a_helper_that_fails", "tp=4",
     "local function cut(graph)\n  graph:shard('x', {[9] = 'tp'})\nend\n" PAS("cut(graph)"),
     "2: script: 'x' has 2 dims, no dim 9; called from line 5 in PAS [its dims: 0 of 8, 1 of 16; "
     "-1 is the last]\n"},
    {"register_op_in_pas", "tp=4", PAS("register_op('a -> a', {name = 'x'})"),
     "2: script: register_op must be called at the top level of the file, not in a function that "
     "runs later\n"},
    {"register_op_without_name", "tp=4", "register_op('a -> a')",
     "1: script: register_op needs a name: register_op(ANNOTATION, {name = \"..\"})\n"},
    {"register_op_twice", "tp=4",
     "register_op('a -> a', {name = 'x'})\nregister_op('a -> a', {name = 'x'})",
     "2: script: operator 'x' is already registered in line 1\n"},
    {"register_op_wrong_option", "tp=4", "register_op('a -> a', {name = 'x', cost = 3})",
     "1: script: 'cost' must be a function of a node, not a number\n"},
    {"register_op_bad_annotation", "tp=4", "\nregister_op('a (b -> a', {name = 'x'})",
     "2: script: "},
    {"register_op_of_a_number", "tp=4", "register_op(1, {name = 'x'})",
     "1: script: an annotation must be a string, a list of strings or a function, not a number\n"},
};

static void run_policy_row(void **state)
{
    const PolicyRow *row = *state;
    Small small = small_session(row->mesh);
    Buf out = buf_new(small.arena);
    format_run(&small, row->script, &out);
    if (row->want[0] == '\0' || str_ends(str_from(row->want), STR("\n")))
        assert_string_equal(out.s, row->want);
    else
        assert_true(str_starts(buf_str(&out), str_from(row->want)));
    arena_free(small.arena);
}

/* ---- after PAS has run ---- */

static void a_kept_graph_is_of_no_use(void **state)
{
    (void)state;
    Small small = small_session("tp=2");
    Buf out = buf_new(small.arena);
    Sandbox *sandbox =
        sandbox_with("p.lua", "function PAS(graph) kept = graph\nreturn graph end", &out);
    Journal journal = {0};
    Error err = {0};
    assert_true(register_run(sandbox, &small.rules, &err));
    assert_true(policy_run(sandbox, &small.session, &journal, &err));
    sandbox->source.text = STR("kept:nodes()");
    assert_false(sandbox_run(sandbox, NULL, NULL, &err));
    assert_string_equal(err.text, "the graph can be used only while PAS runs");
    sandbox_free(sandbox);
    arena_free(small.arena);
}

static void an_origin_is_the_line_as_it_stands(void **state)
{
    (void)state;
    Small small = small_session("tp=2");
    Buf out = buf_new(small.arena);
    Journal journal = {0};
    Error err = {0};
    Sandbox *sandbox =
        sandbox_with("dir/p.lua", PAS("   graph:pin('x', {[0] = 'tp'}) -- why  "), &out);
    assert_true(register_run(sandbox, &small.rules, &err));
    assert_true(policy_run(sandbox, &small.session, &journal, &err));
    sandbox_free(sandbox);
    assert_int_equal(journal.n_done, 1);
    const Origin *origin = &journal.decisions.at[0].origin;
    assert_string_equal(origin->file, "dir/p.lua");
    assert_string_equal(origin->text, "graph:pin('x', {[0] = 'tp'}) -- why");
    assert_int_equal(origin->line, 2);
    arena_free(small.arena);
}

static const struct CMUnitTest kept_tests[] = {
    cmocka_unit_test(a_kept_graph_is_of_no_use),
    cmocka_unit_test(an_origin_is_the_line_as_it_stands),
};

int main(void)
{
    return run_rows("policy", policy_rows, run_policy_row) +
           run_rows("refusal", refusal_rows, run_policy_row) +
           cmocka_run_group_tests(kept_tests, NULL, NULL);
}
