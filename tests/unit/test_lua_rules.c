/* What a policy file registers beside operators, asked as the engine asks built-in rules. */
#include "tests/unit/unit.h"

#include "core/peers/paddle/eval_spmd.h"
#include "core/rules/one_op.h"
#include "scripts/register/lua_register.h"

/* A file's text, run; the sandbox is freed by the caller. */
static Sandbox *run_script(const char *script, const RuleBook *rules, Error *err)
{
    Sandbox *sandbox = sandbox_new("rules.lua");
    sandbox->source.text = str_from(script);
    if (!register_run(sandbox, rules, err)) {
        sandbox_free(sandbox);
        return NULL;
    }
    return sandbox;
}

/* ---- register_rule ---- */

typedef struct {
    const char *name, *script, *op;
    const char *inputs;  /* "[64,32] [-1,0]; [32,48] [0,-1]": shape and dims_mapping of each */
    const char *outputs; /* the same, of a backward call; NULL: forward */
    const char *want;    /* needed mappings, "->", mappings of outputs with their partials; or the
                            error */
} SpmdRow;

static const char add_rule[] =
    "register_rule('my_add', {forward = function(inputs, attrs)\n"
    "  local x, y = inputs[1], inputs[2]\n"
    "  local xl, yl, ol = spmd.binary_letters(x, y)\n"
    "  local map = spmd.merge({{xl, x}, {yl, y}})\n"
    "  return {spmd.mapping(xl, map), spmd.mapping(yl, map)}, {spmd.mapping(ol, map)}\n"
    "end})";

static const char view_rule[] =
    "register_rule('my_view', {forward = function(inputs, attrs)\n"
    "  local x = inputs[1]\n"
    "  local need, out = spmd.infer_from_trans(x, spmd.reshape_trans(x.shape, attrs.shape))\n"
    "  return {need}, {out}\n"
    "end})";

/* clang-format off */
static SpmdRow spmd_rows[] = {
    {"a product by letters", "register_rule('p', {letters = 'mk,kn->mn'})", "p",
     "[64,32] [-1,0]; [32,48] [-1,1]", NULL, "[-1,0] [0,1] -> [-1,1]{\"0\":\"sum\"}"},
    {"the merge gives both operands the same", "register_rule('p', {letters = 'ab,b->ab'})", "p",
     "[64,32] [0,-1]; [32] [1]", NULL, "[0,1] [1] -> [0,1]{}"},
    {"a max by letters", "register_rule('p', {letters = 'ab->a', reduce = 'max'})", "p",
     "[64,32] [-1,1]", NULL, "[-1,1] -> [-1]{\"1\":\"max\"}"},
    {"backward by letters", "register_rule('p', {letters = 'mk,kn->mn'})", "p",
     "[64,32] [0,0]; [32,48] [0,0]", "[64,48] [1,0]", "[1,-1] [-1,0] -> [1,0]{}"},
    {"a function with helpers", add_rule, "my_add", "[4,64,32] [0,-1,-1]; [64,1] [1,-1]", NULL,
     "[0,1,-1] [1,-1] -> [0,1,-1]{}"},
    {"transforms", view_rule, "my_view", "[8,16] [0,1]", NULL, "[[0,1],[]] -> [[0,1]]{}"},
    {"an axis on two dims", "register_rule('p', {forward = function(i) return {{0,0}}, {{0}} end})", "p",
     "[8,8] [-1,-1]", NULL, "input 0: axis 0 splits two dims"},
    {"an axis the mesh lacks", "register_rule('p', {forward = function(i) return {{5,-1}}, {{0}} end})", "p",
     "[8,8] [-1,-1]", NULL, "the mesh has no axis 5"},
    {"partial over an axis the mesh lacks",
     "register_rule('p', {forward = function(i) return {{-1,-1}}, {{dims_mapping = {-1}, partial = {[3] = 'sum'}}} end})",
     "p", "[8,8] [-1,-1]", NULL, "the mesh has no axis 3"},
    {"partial is no table",
     "register_rule('p', {forward = function(i) return {{-1}}, {{dims_mapping = {-1}, partial = 'sum'}} end})",
     "p", "[8] [-1]", NULL, "partial is a list, not a string"},
    {"an axis the mesh lacks, in a helper",
     "register_rule('p', {forward = function(i)\n"
     "  return {spmd.infer_from_trans({dims_mapping = {7}, shape = {8}}, {{from = {0}}})}, {{0}} end})",
     "p", "[8] [-1]", NULL, "the mesh has no axis 7"},
    {"a source dim twice",
     "register_rule('p', {forward = function(i)\n"
     "  return {spmd.infer_from_trans(i[1], {{from = {0, 0}}})}, {{0}} end})",
     "p", "[8] [-1]", NULL, "source dim 0"},
    {"a shape of more dims than a tensor has",
     "register_rule('p', {forward = function(i)\n"
     "  local x = {dims_mapping = {-1}, shape = {1,1,1,1,1,1,1,1,1,1,1,1}}\n"
     "  return {spmd.binary_letters(x, x)}, {{0}} end})",
     "p", "[8] [-1]", NULL, "10 dims at most"},
    {"sizes that no tensor has",
     "register_rule('p', {forward = function(i)\n"
     "  return {spmd.reshape_trans({1 << 40, 1 << 40}, {-1})}, {{0}} end})",
     "p", "[8] [-1]", NULL, "dim 0 has the size -1"},
    {"a backward that is none", "register_rule('p', {forward = function(i) end, backward = 3})", NULL,
     NULL, NULL, "'backward' is a function, not a number"},
    {"too few dims", "register_rule('p', {forward = function(i) return {{0}}, {{0}} end})", "p",
     "[8,8] [-1,-1]", NULL, "the answer has 1 dims, the tensor 2"},
    {"nothing returned", "register_rule('p', {forward = function(i) end})", "p", "[8] [-1]", NULL,
     "returns a list"},
    {"a failing function", "register_rule('p', {forward = function(i) return i.x.y end})", "p", "[8] [-1]",
     NULL, "attempt to index a nil value"},
    {"letters that do not fit", "register_rule('p', {letters = 'ab->a'})", "p", "[8] [-1]", NULL,
     "has 1 dims but its letters 'ab' name 2"},
    {"no backward", add_rule, "my_add", "[8] [0]; [8] [0]", "[8] [0]", "backward"},
    {"no letter", "register_rule('p', {letters = 'a?->a'})", NULL, NULL, NULL, "character 2"},
    {"no arrow", "register_rule('p', {letters = 'ab'})", NULL, NULL, NULL, "has no arrow"},
    {"an unknown option", "register_rule('p', {letter = 'ab->a'})", NULL, NULL, NULL, "no option 'letter'"},
    {"neither", "register_rule('p', {})", NULL, NULL, NULL, "needs 'forward'"},
    {"helpers outside of a rule", "spmd.letters(2)", NULL, NULL, NULL, "for rules that are running"},
};
/* clang-format on */

/* "[64,32] [-1,0]; .." */
static int read_tensors(Arena *arena, const char *text, SpmdTensor *out)
{
    int n = 0;
    for (const char *at = text; at && *at; n++) {
        size_t length = strcspn(at, ";");
        const char *one = arena_str(arena, (Str){at, length});
        const char *mapping = strchr(one, ' ') + 1;
        Json *sizes, *axes;
        Source a = {"shape", {one, (size_t)(mapping - one)}}, b = {"mapping", str_from(mapping)};
        assert_non_null(sizes = json_parse(&a, NULL));
        assert_non_null(axes = json_parse(&b, NULL));
        out[n] = (SpmdTensor){.n_dims = json_size(axes)};
        out[n].shape.n_dims = json_size(sizes);
        for (int d = 0; d < json_size(sizes); d++) {
            int axis = (int)json_int(json_at(axes, d), -1);
            out[n].shape.dim[d] = json_int(json_at(sizes, d), 0);
            if (axis >= 0)
                spmd_axes_push(&out[n].dim[d], axis);
        }
        json_free(sizes);
        json_free(axes);
        at += length + (at[length] == ';');
        at += strspn(at, " ");
    }
    return n;
}

static void put_mapping(Buf *text, const SpmdTensor *tensor)
{
    Json *mapping = json_of_spmd_mapping(tensor, false);
    json_write(mapping, text);
    json_free(mapping);
}

static void put_answer(const SpmdCall *call, Buf *text)
{
    for (int i = 0; i < call->need.n; i++) {
        put_mapping(text, call->need.at[i]);
        buf_putc(text, ' ');
    }
    buf_puts(text, "->");
    for (int o = 0; o < call->out.n; o++) {
        buf_putc(text, ' ');
        put_mapping(text, call->out.at[o]);
        Json *partial = json_of_spmd_partial(call->out.at[o]);
        json_write(partial, text);
        json_free(partial);
    }
}

static void test_spmd(void **state)
{
    const SpmdRow *row = *state;
    Arena *arena = arena_new();
    RuleBook rules = rule_book_new(arena);
    Buf got = buf_new(arena);
    Error err = {0};
    SpmdTensor input[4], output[4];
    Sandbox *sandbox = run_script(row->script, &rules, &err);
    if (sandbox && row->op) {
        OneOp one = {.op_type = STR("op")};
        OneOpBuilder *builder = one_op_new(arena, &one);
        assert_true(one_op_attr_text(builder, "shape=[128]", &err));
        Source mesh = {"mesh", STR("x=2,y=4")};
        SpmdCall call = {.arena = arena, .name = row->op, .input = input, .output = output};
        call.graph = one_op_graph(builder, &err);
        call.mesh = mesh_parse(arena, &mesh, &err);
        call.rule = spmd_rules_find(spmd_rules_of(&rules), str_from(row->op));
        call.backward = row->outputs != NULL;
        call.n_inputs = read_tensors(arena, row->inputs, input);
        call.n_outputs = read_tensors(arena, row->outputs, output);
        assert_non_null(call.rule);
        if (spmd_apply(call.rule, &call, &err))
            put_answer(&call, &got);
    }
    if (error_is_set(&err))
        buf_puts(&got, err.text);
    if (error_is_set(&err) ? !strstr(got.s, row->want) : strcmp(got.s, row->want) != 0)
        fail_msg("got  %s\nwant %s", got.s, row->want);
    sandbox_free(sandbox);
    arena_free(arena);
}

int main(void)
{
    enum { TESTS_MAX = sizeof spmd_rows / sizeof *spmd_rows };
    static struct CMUnitTest tests[TESTS_MAX];
    int n = 0;
    for (size_t i = 0; i < sizeof spmd_rows / sizeof *spmd_rows; i++)
        tests[n++] = (struct CMUnitTest){spmd_rows[i].name, test_spmd, NULL, NULL, &spmd_rows[i]};
    return _cmocka_run_group_tests("lua_rules", tests, (size_t)n, NULL, NULL);
}
