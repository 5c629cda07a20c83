/* nnScaler's PAS in Lua: nodes found and read, stages, devices, recompute, schedules, plans of ops.
 *
 * The small model has eight ops in a row, a b c d e f g h; `in` -> b1 .. b8, each a MatMul with a
 * weight or a Relu, so that places are easy to see:
 *
 *     0 mm0  MatMul x, w0   1 act0 Relu   2 mm1 MatMul, w1   3 act1 Relu
 *     4 mm2  MatMul    w2   5 act2 Relu   6 add  Add of act2 and act0 (a value that skips)
 *     7 soft Softmax
 */
#include "tests/unit/unit.h"

#include "core/session/session.h"
#include "scripts/lua_policy.h"
#include "scripts/register/lua_register.h"

#include <inttypes.h>

static int32_t add_weight(GraphBuilder *builder, const char *name)
{
    int32_t tensor = graph_tensor(builder, str_from(name));
    Shape shape = {.n_dims = 2, .dim = {16, 16}};
    TensorData absent = {.form = DATA_ABSENT, .location = "w"};
    graph_add_initializer(builder, tensor, DT_F32, &shape, absent);
    return tensor;
}

static int32_t add_op(GraphBuilder *builder, const char *op_type, const char *name,
                      const char *path, int32_t a, int32_t b)
{
    int32_t inputs[] = {a, b};
    int32_t out = graph_tensor(
        builder, str_from(arena_printf(graph_builder_graph(builder)->arena, "%s.o", name)));
    graph_add_op(builder, str_from(op_type), str_from(name), str_from(path), inputs, b < 0 ? 1 : 2,
                 &out, 1, 0);
    return out;
}

static Graph *small_graph(Arena *arena)
{
    GraphBuilder *builder = graph_builder_new(arena, "small.onnx");
    graph_builder_graph(builder)->opset = 17;
    int32_t x = graph_tensor(builder, STR("x"));
    DeclaredDim dims[] = {{8, 0}, {16, 0}};
    graph_add_input(builder, x, DT_F32, dims, 2);
    int32_t v = x, skipped = -1;
    for (int i = 0; i < 3; i++) {
        const char *path = arena_printf(arena, "layers.%d.fc", i);
        int32_t w = add_weight(builder, arena_printf(arena, "layers.%d.fc.weight", i));
        v = add_op(builder, "MatMul", arena_printf(arena, "mm%d", i), path, v, w);
        v = add_op(builder, "Relu", arena_printf(arena, "act%d", i),
                   arena_printf(arena, "layers.%d.act", i), v, -1);
        skipped = i == 0 ? v : skipped;
    }
    v = add_op(builder, "Add", "add", "tail", v, skipped);
    v = add_op(builder, "Softmax", "soft", "tail", v, -1);
    graph_add_output(builder, v);
    Error err = {0};
    Graph *graph = graph_seal(builder, &err);
    assert_non_null(graph);
    return graph;
}

/* ---- a run ---- */

static void print_line(void *listener, const char *file, int line, const char *text)
{
    (void)file;
    buf_printf(listener, "%d: %s\n", line, text);
}

static const char *op_of(const Session *session, int32_t op)
{
    return op_name(session->graph, op);
}

static void put_cut(const Session *session, const Decision *it, Buf *out)
{
    bool op = it->kind == PIN_INDEX_DIM;
    if (op)
        buf_printf(out, "%s %s ", op_of(session, it->place),
                   inferred_space(session->inferred, it->place)->index[it->dim].name);
    else
        buf_printf(out, "%s %d ", tensor_name(session->graph, it->place), it->dim);
    cut_format(decision_cut(it), session->mesh, out);
}

/* "mm0 n 16/tp", "stage mm1 relay", "mm0..act1 on pp=0", "again 0 mm0..act0", "1f1b x4". */
static void put_decision(const Session *session, const Decision *it, Buf *out)
{
    if (it->kind == PIN_INDEX_DIM || it->kind == PIN_TENSOR_DIM)
        put_cut(session, it, out);
    else if (it->kind == PIN_STAGE)
        buf_printf(out, "stage %s%s", op_of(session, it->place), it->relay ? " relay" : "");
    else if (it->kind == PIN_DEVICES) {
        buf_printf(out, "%s..%s on ", op_of(session, it->place), op_of(session, it->last));
        submesh_format(session->mesh, it->devices, out);
    } else if (it->kind == PIN_RECOMPUTE)
        buf_printf(out, "again %d %s..%s", it->number, op_of(session, it->place),
                   op_of(session, it->last));
    else if (it->kind == PIN_SCHEDULE)
        buf_printf(out, "%s x%d", it->schedule, it->number);
    else if (it->kind == PIN_BARRIER)
        buf_printf(out, "barrier %s", tensor_name(session->graph, it->place));
    else
        buf_printf(out, "kind %d", (int)it->kind);
    buf_printf(out, " @%d\n", it->origin.line);
}

static void put_error(const Error *err, Buf *out)
{
    buf_printf(out, "%d: %s", err->line, err->text);
    if (err->hint[0] != '\0')
        buf_printf(out, " [%s]", err->hint);
    buf_putc(out, '\n');
}

typedef struct {
    const char *name, *mesh, *script, *want;
} PasRow;

static void run_row(void **state)
{
    const PasRow *row = *state;
    Arena *arena = arena_new();
    RuleBook rules = rule_book_new(arena);
    Session session = {.model_arena = arena, .journal_arena = arena, .rules = rules};
    Buf out = buf_new(arena);
    Error err = {0};
    DimBindings none = {0};
    Journal journal = {0};
    session.graph = small_graph(arena);
    session.inferred = infer(arena, session.graph, rules.registry, &none, false, &err);
    assert_non_null(session.inferred);
    session.naming = naming_new(arena, session.inferred);
    Source source = {"--mesh", str_from(row->mesh)};
    session.mesh = mesh_parse(arena, &source, &err);
    assert_non_null(session.mesh);
    Sandbox *sandbox = sandbox_new("p.lua");
    assert_non_null(sandbox);
    sandbox->source.text = str_from(row->script);
    sandbox->listener = &out;
    sandbox->print = print_line;
    if (!register_run(sandbox, &rules, &err) || !policy_run(sandbox, &session, &journal, &err))
        put_error(&err, &out);
    for (int i = 0; i < journal.n_done; i++)
        put_decision(&session, &journal.decisions.at[i], &out);
    for (int i = 0; i < session.notes.n; i++)
        buf_printf(&out, "note %s [%s] @%d\n", session.notes.at[i].text, session.notes.at[i].hint,
                   session.notes.at[i].line);
    assert_string_equal(out.s, row->want);
    sandbox_free(sandbox);
    arena_free(arena);
}

/* PAS begins in line 4; op(name) is the node, at(i) the node at a place. */
#define PAS(body)                                                                                  \
    "local g\nlocal function op(name) return g:op(name) end\n"                                     \
    "local function at(i) return g:node(i) end\n"                                                  \
    "function PAS(graph, resource) g = graph\n" body "\nreturn graph end"
/* names(list): the ops' names, joined. */
#define NAMES                                                                                      \
    "local function names(list) local t = {} for i, n in ipairs(list) do t[i] = "                  \
    "tostring(n):match(\"'(.*)'\") or n.name end "                                                 \
    "return table.concat(t, ' ') end\n"
/* Cuts the node and gives sub-node i the i-th device. */
#define TP                                                                                         \
    "local function tp(node, idx, dim, devices)\n"                                                 \
    "local subs = g:partition(node, node:algorithm('dim'), {idx = idx, dim = dim, num = "          \
    "#devices})\nfor i, sub in ipairs(subs) do g:assign(sub, devices[i]) end end\n"

/* ---- finding and reading ---- */

static PasRow query_rows[] = {
    {"nodes_by_place", "tp=2",
     PAS("print(graph.nnodes, at(0).op, at(7).op, graph:index(op('mm1')), op('mm1').index)\n"
         "local b = graph:between(op('mm1'), op('mm2'))\nprint(#b, b[1].op, b[3].op)"),
     "5: 8\tmm0\tsoft\t2\t2\n7: 3\tmm1\tmm2\n"},
    {"no_such_place", "tp=2", PAS("at(8)"),
     "3: the program has no node 8; called from line 5 in PAS [it has 8 nodes, from 0]\n"},
    {"between_backwards", "tp=2", PAS("graph:between(at(3), at(1))"),
     "5: 'act1' comes after 'act0' [give the first node first: 1, 3]\n"},
    {"producers_and_consumers", "tp=2",
     PAS(NAMES "local t = op('act0'):output(0)\n"
               "print(names(graph:producers(t)), names(graph:consumers(t)))\n"
               "print(graph:depends(op('act0'), op('add')), graph:depends(op('mm0'), op('add')))\n"
               "print(#graph:producers(op('mm0'):input(1)))"),
     "7: act0\tmm1 add\n8: true\tfalse\n9: 0\n"},
    {"select_by_name_and_path", "tp=2",
     PAS(NAMES "print(names(graph:select{name = 'MatMul', path = 'layers.{0,2}.*'}))\n"
               "print(names(graph:select{ntype = 'IRFwOperation', op = 'act?'}))\n"
               "print(#graph:select{ntype = 'IRDataOperation'})"),
     "6: mm0 mm2\n7: act0 act1 act2\n8: 0\n"},
    {"where_by_tensors", "tp=2",
     PAS(NAMES "print(names(graph:where{reads = 'layers.1.fc.weight'}))\n"
               "print(names(graph:where{is_param = true}), names(graph:where{index = 'k'}))\n"
               "print(names(graph:where{makes = 'act0.o'}))"),
     "6: mm1\n7: mm0 mm1 mm2\tmm0 mm1 mm2\n8: act0\n"},
    {"where_by_a_function", "tp=2",
     PAS(NAMES "print(names(graph:where(function(n) return n.n_inputs == 1 end)))"),
     "6: act0 act1 act2 soft\n"},
    {"where_by_axis_and_stage", "tp=2",
     PAS(NAMES "graph:pin(op('mm1'), {n = 'tp'})\nprint(names(graph:where{axis = 'tp'}))\n"
               "graph:staging{at(0), at(6)}\nprint(names(graph:where{stage = 1}))"),
     "7: mm1\n9: add soft\nmm1 n 16/tp @6\nstage mm0 relay @8\nstage add relay @8\n"},
    {"a_list_is_pinned", "tp=2", PAS("graph:pin(graph:where{name = 'MatMul'}, {n = 'tp'})"),
     "mm0 n 16/tp @5\nmm1 n 16/tp @5\nmm2 n 16/tp @5\n"},
    {"nothing_matches", "tp=2", PAS("print(#graph:where{path = 'layers.0.fv'})"),
     "5: 0\nnote no node matches path = 'layers.0.fv' [nearest: 'layers.0.fc'] @5\n"},
    {"nothing_matches_a_name", "tp=2", PAS("graph:select{name = 'Matmul'}"),
     "note no node matches name = 'Matmul' [nearest: 'MatMul'] @5\n"},
    {"nothing_matches_all", "tp=2", PAS("graph:where{name = 'Relu', is_param = true}"),
     "note no node matches all fields of the filter [each field alone matches some nodes] @5\n"},
    {"unknown_field", "tp=2", PAS("graph:where{module = 'x'}"),
     "5: a filter has no field 'module' [fields: name, operator, path, op, reads, makes, "
     "index, axis, is_param, stage, ntype]\n"},
    {"unknown_axis_of_a_filter", "dp=2,tp=2", PAS("graph:where{axis = 'tq'}"),
     "5: this mesh has no axis 'tq' [did you mean 'tp'?]\n"},
    {"node_attributes", "tp=2",
     PAS("local n = op('mm1')\nprint(n.fqn, n.signature, n.anno, n.n_inputs, n.n_outputs, "
         "n.layer)\n"
         "print(table.concat(n.modules, ' '), n.dims[1].name, n.dims[1].size, n.dims[2].role)\n"
         "print(n.device, #n.devices, n.recompute, next(n.kwargs), #n:algorithms())\n"
         "for _, at in ipairs(n:transform_space()) do print(at.idx, at.dim) end"),
     "6: layers.1.fc\tMatMul\tm k+, k+ n -> m n\t2\t1\t1\n"
     "7: layers layers.1 layers.1.fc\tm\t8\treduce\n8: nil\t2\tnil\tnil\t1\n"
     "9: 0\t0\n9: 0\t1\n9: 1\t1\n"},
    {"tensor_attributes", "tp=2",
     PAS("local w, x = op('mm0'):input(1), op('mm0'):input(0)\n"
         "print(w.ndims, w.is_attr, w.is_buffer, w.requires_grad, w.parent == w, w.bytes)\n"
         "print(x.is_attr, x.requires_grad, x.is_input, op('mm0').out[1].requires_grad)\n"
         "print(op('soft').out[1].is_output, w.is_output)"),
     "6: 2\ttrue\tfalse\ttrue\ttrue\t1024\n7: false\tfalse\ttrue\ttrue\n8: true\tfalse\n"},
    {"devices_and_coordinates", "pp=2,tp=4",
     PAS("local c = resource:coordinates(6)\nprint(c.pp, c.tp)\n"
         "print(table.concat(resource:devices{pp = 1}, ' '), #resource:devices())"),
     "6: 1\t2\n7: 4 5 6 7\t8\n"},
    {"coordinates_of_no_device", "pp=2,tp=4", PAS("resource:coordinates(8)"),
     "5: the mesh has no device 8 [it has 8 devices, from 0]\n"},
    {"coordinates_of_a_text", "pp=2,tp=4", PAS("resource:devices{pp = 'first'}"),
     "5: coordinates must be integers by axis: {pp = 0}\n"},
    {"satisfy_takes_a_list", "pp=2,tp=2",
     PAS("print(op('mm0'):algorithm('dim'):satisfy{{idx = 0, dim = 0, num = 2}, "
         "{idx = 1, dim = 1, num = 2}})"),
     "5: true\n"},
    {"layers", "tp=2",
     PAS("print(get_layer_index('h.12.mlp'), #get_pas_ops(graph))\n"
         "get_layer_index('h.1.2')"),
     "5: 12\t8\n6: 'h.1.2' has several numbers [a layer's path has one part that is a number: "
     "\"h.3.mlp\"]\n"},
    {"unpin_a_list", "tp=2",
     PAS("local list = graph:where{op = 'mm{0,1}'}\ngraph:pin(list, {n = 'tp'})\n"
         "graph:unpin(list, 'n')\ngraph:pin(list, {k = 'tp'})\nprint(#list)"),
     "9: 2\nmm0 n 16/tp @6\nmm1 n 16/tp @6\nkind 3 @7\nkind 3 @7\nmm0 k 16/tp @8\nmm1 k 16/tp "
     "@8\n"},
};

/* ---- stages ---- */

static PasRow stage_rows[] = {
    {"staging", "pp=2",
     PAS(NAMES "graph:staging{at(2), op('mm2')}\nlocal s = graph:segments()\n"
               "print(#s, s[1].index, s[2].name, s[2].nnodes, names(s[2]:nodes()))\n"
               "print(graph:segment(op('add')) == s[2], names(graph:nodes(false)))"),
     "8: 2\t0\tstage 1\t4\tmm2 act2 add soft\n9: true\tstage 0 stage 1\n"
     "stage mm0 relay @6\nstage mm2 relay @6\n"},
    {"stages_one_by_one", "pp=2",
     PAS("graph:blocking{at(0), at(4)}\ngraph:staging{graph:node(0), at(6)}"),
     "stage mm0 @5\nstage mm2 @5\nstage add relay @6\n"},
    {"blocking", "pp=2", PAS("graph:blocking{at(0), at(4)}"), "stage mm0 @5\nstage mm2 @5\n"},
    {"nothing_is_staged", "pp=2", PAS("print(#graph:segments(), graph:segments()[1].nnodes)"),
     "5: 1\t8\n"},
    {"inputs_and_outputs_of_a_segment", "pp=2",
     PAS("graph:staging{at(0), at(4)}\nlocal function names(list) local t = {} for i, n in "
         "ipairs(list) do t[i] = n.name end return table.concat(t, ' ') end\n"
         "local a, b = graph:segments()[1], graph:segments()[2]\n"
         "print(names(a:inputs()), '>', names(a:outputs()))\n"
         "print(names(b:inputs()), '>', names(b:outputs()))"),
     "8: x\t>\tact0.o act1.o\n9: act1.o act0.o\t>\tsoft.o\nstage mm0 relay @5\nstage mm2 relay "
     "@5\n"},
    {"stages_out_of_order", "pp=2", PAS("graph:staging{at(0), at(4), at(2)}"),
     "5: stages must begin in program order: 'mm1' comes before 'mm2' [node.index is the position "
     "of a node: 2 after 4]\n"},
    {"an_empty_stage_is_left_out", "pp=2", PAS("graph:staging{at(0), at(4), at(4)}"),
     "stage mm0 relay @5\nstage mm2 relay @5\nnote stage 1 has no ops: 'mm2' begins the next [it "
     "is left out] @5\n"},
    {"staged_and_blocked", "pp=2", PAS("graph:staging{at(0), at(4)}\ngraph:blocking{at(0), at(4)}"),
     "6: a stage begins at 'mm2' both by graph:staging and by graph:blocking [use one of them: "
     "staging passes values through every stage, blocking does not]\n"},
    {"no_stages", "pp=2", PAS("graph:staging{}"),
     "5: no node is given: write for example {graph:node(0), graph:node(100)}\n"},
    {"stages_of_texts", "pp=2", PAS("graph:staging{'mm0'}"),
     "5: expected a node, a segment or a list of these, not a string\n"},
    {"group", "pp=2",
     PAS("local s = graph:group{at(3), at(2)}\nprint(s.index, s.nnodes, #graph:segments())"),
     "6: 1\t2\t3\nstage mm1 @5\nstage mm2 @5\n"},
    {"group_with_a_hole", "pp=2", PAS("graph:group{at(1), at(3)}"),
     "5: the nodes of a group must be consecutive: 'mm1' is missing [graph:between(first, last) "
     "returns all of them]\n"},
    {"group_of_two_segments", "pp=2",
     PAS("graph:staging{at(0), at(4)}\ngraph:group(graph:between(at(3), at(5)))"),
     "6: 'act1' and 'mm2' are in two segments [a group must be within one segment; this one ends "
     "with 'act1']\n"},
};

/* ---- devices ---- */

static PasRow place_rows[] = {
    {"segments_on_parts_of_the_mesh", "pp=2,tp=2",
     PAS("graph:staging{at(0), at(4)}\nfor i, s in ipairs(graph:segments()) do graph:assign(s, {pp "
         "= i - 1}) end\nprint(#at(0).devices, at(0).device)"),
     "7: 2\tnil\nstage mm0 relay @5\nstage mm2 relay @5\nmm0..act1 on pp=0 @6\nmm2..soft on pp=1 "
     "@6\n"},
    {"sub_nodes_on_devices", "pp=2,tp=2",
     PAS(TP "for i = 0, 3 do tp(at(i), 0, 0, {0, 1}) end\n"
            "for i = 4, 7 do tp(at(i), 0, 0, {2, 3}) end"),
     "mm0 m 8/tp @6\nact0 d0 8/tp @6\nmm1 m 8/tp @6\nact1 d0 8/tp @6\nmm2 m 8/tp @6\n"
     "act2 d0 8/tp @6\nadd d0 8/tp @6\nsoft d0 8/tp @6\n"
     "mm0..act1 on pp=0 @7\nmm2..soft on pp=1 @7\n"},
    {"devices_tell_the_axis", "pp=2,tp=2",
     PAS(TP "tp(at(0), 0, 1, {0, 2})\nfor i = 1, 7 do graph:assign(at(i), {0, 2}) end"),
     "mm0 k 16/pp @6\nmm0..soft on tp=0 @7\n"},
    {"part_of_an_axis", "x=8",
     PAS(TP "tp(at(0), 1, 1, {4, 5, 6, 7})\nfor i = 1, 7 do graph:assign(at(i), {4, 5, 6, 7}) end"),
     "mm0 n 16/x:(2)4 @6\nmm0..soft on x:(1)2=1 @7\n"},
    {"two_dims_at_once", "x=8",
     PAS("local n = at(0)\nlocal subs = graph:partition(n, n:algorithm('dim'), {{idx = 0, dim = 0, "
         "num = 2}, {idx = 1, dim = 1, num = 4}})\nprint(#subs, subs[8])\n"
         "graph:assign(subs, resource:devices())"),
     "7: 8\tMatMul 'mm0'[1][3]\nmm0 m 8/x:(1)2 @6\nmm0 n 16/x:(2)4 @6\n"},
    {"two_dims_by_size", "dp=2,tp=4",
     PAS("local n = at(0)\nprint(#graph:partition(n, n:algorithm('dim'), {{idx = 0, dim = 0, num = "
         "2}, {idx = 1, dim = 1, num = 4}}))"),
     "6: 8\nmm0 m 8/dp @6\nmm0 n 16/tp @6\n"},
    {"a_node_on_one_device", "tp=2",
     PAS("for i = 0, 3 do graph:assign(at(i), 0) end\ngraph:assign(graph:between(at(4), at(7)), "
         "1)\nprint(at(0).device, at(7).device)"),
     "7: 0\t1\nmm0..act1 on tp=0 @5\nmm2..soft on tp=1 @6\n"},
    {"the_last_assign_holds", "pp=2",
     PAS("graph:assign(graph:nodes(), {pp = 0})\ngraph:assign(op('soft'), {pp = 1})"),
     "mm0..add on pp=0 @5\nsoft..soft on pp=1 @6\n"},
    {"the_whole_mesh_needs_no_decision", "tp=2",
     PAS("local n = at(0)\nlocal subs = graph:partition(n, n:algorithm('dim'), {idx = 0, dim = 0, "
         "num = 2})\nprint(graph:assign(subs, {0, 1}), subs[2].device)"),
     "7: true\t1\nmm0 m 8/tp @6\n"},
    {"replicate_in_a_part_of_the_mesh", "pp=2,tp=2",
     PAS("graph:assign(graph:nodes(), {pp = 1})\nprint(#graph:replicate(at(7), 2))"),
     "6: 2\nsoft d0 8 @6\nmm0..soft on pp=1 @5\n"},
    {"num_in_a_part_of_the_mesh", "pp=2,tp=2",
     PAS("graph:assign(graph:nodes(), {pp = 1})\nlocal n = at(0)\n"
         "graph:partition(n, n:algorithm('dim'), {idx = 1, dim = 1, num = 2})"),
     "mm0 n 16/tp @7\nmm0..soft on pp=1 @5\n"},
    {"an_op_joins_its_stage", "pp=2,tp=2",
     PAS(TP "graph:staging{at(0), at(4)}\nfor i = 0, 7 do if i ~= 1 and i ~= 5 then tp(at(i), 0, "
            "0, i < 4 and {0, 1} or {2, 3}) end end"),
     "stage mm0 relay @8\nstage mm2 relay @8\nmm0 m 8/tp @6\nmm1 m 8/tp @6\nact1 d0 8/tp @6\n"
     "mm2 m 8/tp @6\nadd d0 8/tp @6\nsoft d0 8/tp @6\nmm0..act1 on pp=0 @7\nmm2..soft on pp=1 "
     "@7\n"},
    {"ops_without_a_device", "pp=2", PAS("graph:assign(graph:between(at(0), at(5)), {pp = 0})"),
     "mm0..act2 on pp=0 @5\nnote 2 ops have no device, but others have: 'add', .. [they run on "
     "all devices; graph:assign them too] @0\n"},
    {"no_part_of_the_mesh", "tp=4", PAS("graph:assign(at(0), {0, 1, 2})"),
     "5: 'mm0' would run on devices 0,1,2, which do not form a part of the mesh [the mesh tp=4 has "
     "no "
     "part of 3 devices]\n"},
    {"no_part_of_that_shape", "tp=4", PAS("graph:assign(at(0), {0, 3})"),
     "5: 'mm0' would run on devices 0,3, which do not form a part of the mesh [parts of 2 devices: "
     "0,1 "
     "(tp:(1)2=0); 0,2 (tp:(2)2=0)]\n"},
    {"a_device_twice", "tp=4", PAS("graph:assign(at(0), {0, 3, 0})"),
     "5: 'mm0' has device 0 twice [a device runs one part of an op: partition the op into as many "
     "parts as it has devices]\n"},
    {"co_shard", "tp=2", PAS(TP "tp(at(0), 0, 0, {0, 0})"),
     "7: 'mm0' has device 0 twice [a device runs one part of an op: partition the op into as many "
     "parts as it has devices]\n"},
    {"sub_nodes_out_of_order", "tp=2", PAS(TP "tp(at(0), 0, 0, {1, 0})"),
     "7: sub-node 0 of 'mm0' is on device 1, out of mesh order [sub-nodes must be in "
     "mesh order: 0,1]\n"},
    {"some_sub_nodes_only", "tp=2",
     PAS("local n = at(0)\nlocal subs = graph:partition(n, n:algorithm('dim'), {idx = 0, dim = 0, "
         "num = 2})\ngraph:assign(subs[1], 0)"),
     "7: sub-node 1 of 'mm0' has no device [assign all 2 of them, or none]\n"},
    {"num_that_nothing_tells", "dp=2,tp=2",
     PAS("local n = at(0)\ngraph:partition(n, n:algorithm('dim'), {idx = 0, dim = 0, num = 2})"),
     "6: num = 2 fits several axes: give axis = \"NAME\", or assign the sub-nodes [the mesh is "
     "dp=2,tp=2]\n"},
    {"axis_that_the_devices_lack", "pp=2,tp=2",
     PAS("local n = at(0)\ngraph:partition(n, n:algorithm('dim'), {idx = 0, dim = 0, axis = 'pp'})"
         "\ngraph:assign(n, {pp = 0})"),
     "6: 'mm0' is partitioned by an axis that its devices (pp=0) lack [axes of these devices: "
     "tp=2]\n"},
    {"a_partitioned_node_on_one_device", "tp=2",
     PAS("local n = at(0)\ngraph:partition(n, n:algorithm('dim'), {idx = 0, dim = 0, num = 2})\n"
         "graph:assign(n, 0)"),
     "7: 'mm0' is partitioned into 2 parts: it cannot run on one device [assign its sub-nodes, or "
     "give it a part "
     "of the mesh: {pp = 0}]\n"},
    {"a_part_that_is_partitioned", "dp=2,tp=2",
     PAS("local n = at(0)\nlocal algo = n:algorithm('dim')\nlocal subs = graph:partition(n, algo, "
         "{idx = 0, dim = 0, axis = 'dp'})\nfor _, s in ipairs(subs) do graph:partition(s, algo, "
         "{idx = 1, dim = 1, axis = 'tp'}) end\ngraph:assign(subs[1], 0)"),
     "9: a sub-node of 'mm0' is partitioned further [assign its sub-nodes instead]\n"},
    {"partition_of_what_is_assigned", "dp=2,tp=2",
     PAS("local n = at(0)\nlocal algo = n:algorithm('dim')\nlocal subs = graph:partition(n, algo, "
         "{idx = 0, dim = 0, axis = 'dp'})\ngraph:assign(subs, {0, 2})\ngraph:partition(subs[1], "
         "algo, {idx = 1, dim = 1, axis = 'tp'})"),
     "9: 'mm0' is partitioned after its sub-nodes were assigned [partition first, then "
     "graph:assign the resulting sub-nodes]\n"},
    {"more_sub_nodes_than_devices", "tp=2",
     PAS("local n = at(0)\nlocal subs = graph:partition(n, n:algorithm('dim'), {idx = 0, dim = 0, "
         "num = 1})\ngraph:assign(subs, {0, 1})"),
     "7: 1 sub-nodes are assigned to 2 devices\n"},
    {"no_such_axis", "pp=2", PAS("graph:assign(at(0), {tp = 0})"),
     "5: this mesh has no axis 'tp' [did you mean 'pp'?]\n"},
    {"no_such_coordinate", "pp=2", PAS("graph:assign(at(0), {pp = 2})"),
     "5: 'pp' has no coordinate 2 [its coordinates are 0 to 1]\n"},
    {"assign_to_a_text", "pp=2", PAS("graph:assign(at(0), 'gpu')"),
     "5: devices must be a number, a list of numbers, or coordinates {pp = 0}\n"},
    {"assign_a_tensor", "pp=2", PAS("graph:assign(at(0):input(0), 0)"),
     "5: expected a node, a segment or a list of these, not a tensor\n"},
};

/* ---- recompute, schedule, multiref ---- */

#define TWO_STAGES                                                                                 \
    "graph:staging{at(0), at(4)}\nfor i, s in ipairs(graph:segments()) do graph:assign(s, {pp = "  \
    "i - 1}) end\n"
#define STAGED "stage mm0 relay @5\nstage mm2 relay @5\n"
#define PLACED "mm0..act1 on pp=0 @6\nmm2..soft on pp=1 @6\n"

static PasRow again_rows[] = {
    {"a_partition_taken_back_and_assigned", "tp=2",
     PAS("local subs = graph:partition(at(1), at(1):algorithm('dim'), {idx = 0, dim = 0, num = "
         "2})\n"
         "graph:unpin(at(1))\n"
         "graph:assign(subs, {0, 1})"),
     "kind 3 @6\nkind 3 @6\nact0 d0 8/tp @5\n"},
    {"recompute", "tp=2",
     PAS("graph:recompute{at(2), at(3)}\ngraph:recompute(graph:between(at(5), at(6)))\n"
         "print(at(3).recompute, at(6).recompute, at(4).recompute)"),
     "7: 0\t1\tnil\nagain 0 mm1..act1 @5\nagain 1 act2..add @6\n"},
    {"recompute_a_segment", "pp=2",
     PAS("graph:staging{at(0), at(4)}\n"
         "graph:recompute(graph:segments()[2])"),
     STAGED "again 0 mm2..soft @6\n"},
    {"recompute_with_holes", "tp=2", PAS("graph:recompute{at(6), at(2), at(1)}"),
     "again 0 act0..mm1 @5\nagain 0 add..add @5\n"},
    {"recompute_skips_what_has_no_gradient", "tp=2", PAS("graph:recompute{at(0), at(1)}"),
     "again 0 act0..act0 @5\n"},
    {"recompute_twice", "tp=2", PAS("graph:recompute{at(2), at(3)}\ngraph:recompute{at(3)}"),
     "6: 'act1' is already in recompute group 0 [a node can be in only one group]\n"},
    {"recompute_over_segments", "pp=2",
     PAS("graph:staging{at(0), at(4)}\ngraph:recompute(graph:between(at(3), at(4)))"),
     "6: 'act1' and 'mm2' are in two segments [a recompute group must be within one stage]\n"},
    {"schedule", "pp=2", PAS(TWO_STAGES "graph:schedule('1f1b', {micro_batches = 4})"),
     STAGED "1f1b x4 @7\n" PLACED},
    {"schedule_of_steps", "pp=2",
     PAS(TWO_STAGES "graph:schedule{'0f0', {'0f1', {stage = 1, micro_batch = 0}}, '1f1'}"),
     STAGED "0f0 0f1+1f0 1f1 x2 @7\n" PLACED},
    {"steps_in_a_wrong_order", "pp=2", PAS(TWO_STAGES "graph:schedule('1f0 0f0')"),
     "7: stage 1's forward of micro-batch 0 begins in step 0, and needs stage 0's forward, which "
     "ends with step 1 [step 2 or later]\n"},
    {"schedule_that_does_not_fit", "pp=2",
     PAS(TWO_STAGES "graph:schedule('chimera_direct', {micro_batches = 4})"),
     "7: chimera_direct takes 4 stages and an even number of micro-batches, not 2 and 4 [these "
     "stages have devices of their own: 1f1b, gpipe, zb1p, infer_pipe]\n"},
    {"steps_after_an_idle_one", "pp=2", PAS(TWO_STAGES "graph:schedule{{}, '0f0', '1f0'}"),
     STAGED "- 0f0 1f0 x1 @7\n" PLACED},
    {"no_step_at_all", "pp=2", PAS("graph:schedule{}"),
     "5: a schedule must have 1 to 4096 micro-batches [graph:schedule(\"1f1b\", {micro_batches = "
     "4}); "
     "there are 1f1b 1f1b_interleaved 1f1b_plus eager_1f1b gpipe looped_bfs zb1p zb2p "
     "interleaved_zero_bubble zbv dualpipev dualpipe chimera_direct infer_pipe]\n"},
    {"no_such_schedule", "pp=2", PAS("graph:schedule('gpip', {micro_batches = 4})"),
     "5: there is no schedule 'gpip' [did you mean gpipe?]\n"},
    {"no_half_for_a_second_copy", "pp=1",
     PAS("graph:staging({op('act0'), op('act1')})\n"
         "graph:schedule('dualpipe', {micro_batches = 4})"),
     "6: dualpipe: stage 0 has a copy on each half of its devices, and there are 1 [an even "
     "number; or dualpipev, which has one copy]\n"},
    {"schedule_without_micro_batches", "pp=2", PAS("graph:schedule('1f1b')"),
     "5: a schedule must have 1 to 4096 micro-batches [graph:schedule(\"1f1b\", {micro_batches = "
     "4}); "
     "there are 1f1b 1f1b_interleaved 1f1b_plus eager_1f1b gpipe looped_bfs zb1p zb2p "
     "interleaved_zero_bubble zbv dualpipev dualpipe chimera_direct infer_pipe]\n"},
    {"multiref", "tp=2", PAS("graph:multiref(op('act0').out[1])"), "barrier act0.o @5\n"},
    {"auto_multiref", "tp=2", PAS("graph:auto_multiref()\ngraph:single_consume()"),
     "barrier act0.o @5\n"},
};

/* ---- plans of ops ---- */

#define POLICY(config, body)                                                                       \
    config "\nfunction POLICY(graph, resource)\nlocal function at(i) return graph:node(i) end\n"   \
           "local yield = coroutine.yield\n" body "\nend"

static PasRow plan_rows[] = {
    {"plans_are_yielded", "tp=2",
     POLICY("", "yield {op = at(2), partition = {1, 1}}\nyield {op = at(1), partition = {idx = 0, "
                "dim = 0}}"),
     "barrier act0.o @2\nmm0 m 8 @2\nmm0 k 16 @2\nmm0 n 16 @2\nact0 d0 8/tp @6\nmm1 n 16/tp "
     "@5\nact1 d0 8 @2\nact1 d1 16 @2\nmm2 m 8 @2\nmm2 k 16 @2\nmm2 n 16 @2\nact2 d0 8 @2\nact2 d1 "
     "16 @2\nadd d0 8 @2\nadd d1 16 @2\nsoft d0 8 @2\n"},
    {"plans_are_a_list", "tp=2", POLICY("", "return {{op = at(7), partition = {0, 0}}}"),
     "mm0 m 8 @2\nmm0 k 16 @2\nmm0 n 16 @2\nact0 d0 8 @2\nact0 d1 16 @2\nmm1 m 8 @2\nmm1 k 16 "
     "@2\nmm1 n 16 @2\nact1 d0 8 @2\nact1 d1 16 @2\nmm2 m 8 @2\nmm2 k 16 @2\nmm2 n 16 @2\nact2 d0 "
     "8 @2\nact2 d1 16 @2\nadd d0 8 @2\nadd d1 16 @2\nsoft d0 8/tp @2\n"},
    {"plans_come_from_a_function", "tp=2",
     POLICY("", "local i = -1\nreturn function() i = i + 1\nif i < 2 then return {op = at(i), "
                "partition = {0, 0}} end end"),
     "mm0 m 8/tp @2\nact0 d0 8/tp @2\nmm1 m 8 @2\nmm1 k 16 @2\nmm1 n 16 @2\nact1 d0 8 @2\nact1 d1 "
     "16 @2\nmm2 m 8 @2\nmm2 k 16 @2\nmm2 n 16 @2\nact2 d0 8 @2\nact2 d1 16 @2\nadd d0 8 @2\nadd "
     "d1 16 @2\nsoft d0 8 @2\n"},
    {"a_policy_may_decide_itself", "tp=2", POLICY("", "graph:pin(at(0), {n = 'tp'})\nreturn graph"),
     "mm0 n 16/tp @5\n"},
    {"auto_follows_the_inputs", "tp=2",
     POLICY("", "for i = 0, 7 do yield {op = at(i), partition = i == 0 and {0, 0} or 'auto'} end"),
     "mm0 m 8/tp @5\nact0 d0 8/tp @5\nmm1 m 8/tp @5\nact1 d0 8/tp @5\nmm2 m 8/tp @5\nact2 d0 8/tp "
     "@5\nadd d0 8/tp @5\nsoft d0 8/tp @5\n"},
    {"auto_stops_at_partial_values", "tp=2",
     POLICY("", "yield {op = at(0), partition = {1, 0}}\nyield {op = at(1), partition = 'auto'}"),
     "mm0 k 16/tp @5\nact0 d0 8 @6\nact0 d1 16 @6\nmm1 m 8 @2\nmm1 k 16 @2\nmm1 n 16 @2\nact1 d0 8 "
     "@2\nact1 d1 16 @2\nmm2 m 8 @2\nmm2 k 16 @2\nmm2 n 16 @2\nact2 d0 8 @2\nact2 d1 16 @2\nadd d0 "
     "8 @2\nadd d1 16 @2\nsoft d0 8 @2\n"},
    {"auto_where_inputs_disagree", "tp=2",
     POLICY("", "yield {op = at(1), partition = {0, 1}}\nyield {op = at(5), partition = {0, 0}}\n"
                "yield {op = at(6), partition = 'auto'}"),
     "mm0 m 8 @2\nmm0 k 16 @2\nmm0 n 16 @2\nact0 d1 16/tp @5\nmm1 m 8 @2\nmm1 k 16 @2\nmm1 n 16 "
     "@2\nact1 d0 8 @2\nact1 d1 16 @2\nmm2 m 8 @2\nmm2 k 16 @2\nmm2 n 16 @2\nact2 d0 8/tp @6\nadd "
     "d0 8 @7\nadd d1 16 @7\nsoft d0 8 @2\nnote 'add' cannot be sharded like its inputs: it is "
     "replicated [give it a partition {idx, dim}] @7\n"},
    {"stages", "pp=2,tp=2",
     POLICY("pas_config = {pipeline_nmicros = 4}",
            "for i = 0, 7 do yield {op = at(i), stage_id = i // 4, partition = {0, 0}} end"),
     "stage mm0 relay @5\nstage mm2 relay @5\n1f1b x4 @5\nmm0 m 8/tp @5\nact0 d0 8/tp @5\nmm1 m "
     "8/tp @5\nact1 d0 8/tp @5\nmm2 m 8/tp @5\nact2 d0 8/tp @5\nadd d0 8/tp @5\nsoft d0 8/tp "
     "@5\nmm0..act1 on pp=0 @5\nmm2..soft on pp=1 @5\n"},
    {"stages_take_turns", "x=4",
     POLICY("pas_config = {pipeline_nmicros = 4, pipeline_size = 2, pipeline_scheduler = "
            "'1f1b_interleaved'}",
            "for i = 0, 7 do yield {op = at(i), stage_id = i // 2} end"),
     "stage mm0 relay @5\nstage mm1 relay @5\nstage mm2 relay @5\nstage add relay "
     "@5\n1f1b_interleaved x4 @5\nmm0 m 8 @5\nmm0 k 16 @5\nmm0 n 16 @5\nact0 d0 8 @5\nact0 d1 16 "
     "@5\nmm1 m 8 @5\nmm1 k 16 @5\nmm1 n 16 @5\nact1 d0 8 @5\nact1 d1 16 @5\nmm2 m 8 @5\nmm2 k 16 "
     "@5\nmm2 n 16 @5\nact2 d0 8 @5\nact2 d1 16 @5\nadd d0 8 @5\nadd d1 16 @5\nsoft d0 8 "
     "@5\nmm0..act0 on x:(1)2=0 @5\nmm1..act1 on x:(1)2=1 @5\nmm2..act2 on x:(1)2=0 @5\nadd..soft "
     "on x:(1)2=1 @5\n"},
    {"recompute_groups", "tp=2",
     POLICY("", "for i = 0, 7 do yield {op = at(i), recompute_id = i < 7 and i // 3 or -1, "
                "partition = {0, 0}} end"),
     "again 0 act0..mm1 @5\nagain 1 act1..act2 @5\nmm0 m 8/tp @5\nact0 d0 8/tp @5\nmm1 m 8/tp "
     "@5\nact1 d0 8/tp @5\nmm2 m 8/tp @5\nact2 d0 8/tp @5\nadd d0 8/tp @5\nsoft d0 8/tp @5\n"},
    {"stages_jump", "pp=2", POLICY("", "yield {op = at(3), stage_id = 2}"),
     "5: stage 2 of 'act1' follows stage 0 [in program order the next op may be in stage 0 or "
     "1]\n"},
    {"stages_begin_late", "pp=2", POLICY("", "yield {op = at(0), stage_id = 1}"),
     "5: stages count from 0, 'mm0' has stage 1\n"},
    {"stages_without_micro_batches", "pp=2", POLICY("", "yield {op = at(3), stage_id = 1}"),
     "2: 2 stages need a number of micro-batches [pas_config = {pipeline_nmicros = 4}]\n"},
    {"pipeline_size_that_does_not_divide", "pp=2",
     POLICY("pas_config = {pipeline_size = 3}", "yield {op = at(3), stage_id = 1}"),
     "2: pipeline_size = 3 for 2 stages and 2 devices [pas_config.pipeline_size must divide both; "
     "its default is the number of stages]\n"},
    {"recompute_not_in_a_row", "tp=2",
     POLICY("", "yield {op = at(0), recompute_id = 0}\nyield {op = at(2), recompute_id = 0}"),
     "6: recompute group 0 is not consecutive: 'mm1' ['act0' is between its ops]\n"},
    {"recompute_in_two_stages", "pp=2",
     POLICY("", "for i = 0, 7 do yield {op = at(i), stage_id = i // 4, recompute_id = 0} end"),
     "5: recompute group 0 is in two stages: 'mm2'\n"},
    {"a_frozen_partition", "tp=2", POLICY("", "yield {op = at(7), partition = {0, 1}}"),
     "5: 'soft': dim 1 of idx 0 is frozen: it cannot be sharded [(idx, dim) that can be "
     "partitioned: (0, 0) "
     "d0 of 8; unused axes: tp=2]\n"},
    {"a_plan_without_an_op", "tp=2", POLICY("", "yield {partition = {0, 1}}"),
     "5: a plan for an op needs a node as 'op'\n"},
    {"a_plan_with_another_field", "tp=2", POLICY("", "yield {op = at(0), hook_meta = 1}"),
     "5: a plan for an op has no field 'hook_meta' [fields: op, partition, stage_id, "
     "recompute_id]\n"},
    {"a_plan_that_is_none", "tp=2", POLICY("", "yield(7)"),
     "5: POLICY must return plans for ops, not a number\n"},
    {"a_policy_that_fails", "tp=2", POLICY("", "yield {op = at(0)}\nerror('no')"), "6: no\n"},
    {"settings_of_no_table", "tp=2", POLICY("pas_config = 5", "return {}"),
     "0: pas_config must be a table {pipeline_nmicros = 4}, not a number\n"},
    {"a_scheduler_of_no_name", "tp=2", POLICY("pas_config = {pipeline_scheduler = 1}", "return {}"),
     "0: pas_config.pipeline_scheduler must be a name, such as \"1f1b\"\n"},
    {"an_endless_policy", "tp=2",
     POLICY("", "local node = at(0) while true do yield {op = node} end"),
     "5: stopped after 50 million instructions [a loop that does not end?]\n"},
};

int main(void)
{
    int failed = run_rows("query", query_rows, run_row);
    failed += run_rows("stage", stage_rows, run_row);
    failed += run_rows("place", place_rows, run_row);
    failed += run_rows("again", again_rows, run_row);
    return failed + run_rows("plan", plan_rows, run_row);
}
