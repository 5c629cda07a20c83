/* Plans as modules of JAX and of MLIR, read back: Python runs the one with stand-ins for JAX, our
 * own parser of shardings reads the other. What they say is the plan, or less where it is noted. */
#include "core/propagate/propagators.h"
#include "tests/unit/code_plans.h"

#include "core/code/values.h"

/* ---- what is said, beside the plan ---- */

/* Where a system cannot say a cut it says one that is cut less: `less` counts those. */
static void check_cut(const char *name, const Cut *said, const Cut *plan, const Mesh *mesh,
                      int *less)
{
    if (cut_equal(said, plan))
        return;
    Arena *arena = arena_new();
    Buf a = buf_new(arena), b = buf_new(arena);
    cut_format(said, mesh, &a);
    cut_format(plan, mesh, &b);
    bool strided = plan->n > 1, uneven = cut_is_uneven(plan, mesh);
    if (!cut_refines(plan, said, mesh) || (!strided && !uneven && !cut_is_blocks(plan)))
        fail_msg("%s: said %s, the plan has %s", name, a.s, b.s);
    ++*less;
    arena_free(arena);
}

static int32_t tensor_of(const CodeValues *values, const Graph *graph, Str name)
{
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (values->name[t] && str_eq(str_from(values->name[t]), name))
            return t;
    return -1;
}

static Str unhex(Arena *arena, Str text)
{
    char *out = arena_array(arena, char, text.n / 2 + 1);
    for (size_t i = 0; i + 1 < text.n; i += 2)
        out[i / 2] = (char)strtol((char[]){text.s[i], text.s[i + 1], 0}, NULL, 16);
    return (Str){out, text.n / 2};
}

/* ---- JAX ---- */

/* Modules jax, jax.sharding and numpy with just what an exported module touches when it is read;
 * then a line `TABLE NAME-IN-HEX DIM|DIM|.. UNREDUCED` for each row, of axes as name:pre:size. */
static const char driver[] =
    "import sys, types, json\n"
    "class P(tuple):\n"
    "    UNCONSTRAINED = 'U'\n"
    "    def __new__(cls, *dims, unreduced=()):\n"
    "        self = super().__new__(cls, dims)\n"
    "        self.unreduced = sorted(unreduced)\n"
    "        return self\n"
    "sharding = types.ModuleType('jax.sharding')\n"
    "sharding.Mesh = sharding.NamedSharding = object\n"
    "sharding.PartitionSpec = P\n"
    "for name in ('jax', 'numpy'):\n"
    "    sys.modules[name] = types.ModuleType(name)\n"
    "sys.modules['jax.sharding'] = sharding\n"
    "plan = types.ModuleType('plan')\n"
    "text = open(sys.argv[1], encoding='utf-8').read()\n"
    "assert text.isascii()\n"
    "exec(compile(text, 'plan.py', 'exec'), plan.__dict__)\n"
    "for name, size in plan.AXES.items(): print('AXIS', name, size)\n"
    "for table in ('PARAMETERS', 'INPUTS', 'OUTPUTS', 'ACTIVATIONS', 'REDUCED'):\n"
    "    for name, spec in getattr(plan, table).items():\n"
    "        if spec is None:\n"
    "            print(table, name.encode().hex() or '-', 'None', '-')\n"
    "            continue\n"
    "        dims = ['U' if d == 'U' else ','.join((d,) if isinstance(d, str) else d or ())\n"
    "                for d in spec]\n"
    "        print(table, name.encode().hex() or '-', '|'.join(dims) + '|',\n"
    "              ','.join(spec.unreduced) or '-')\n";

/* The axes of an exported mesh as atoms of ours: they split it in order. */
typedef struct {
    int n;
    char name[ATOMS_MAX + MESH_AXES_MAX][64];
    int first[ATOMS_MAX + MESH_AXES_MAX], n_atoms[ATOMS_MAX + MESH_AXES_MAX];
    int next;
} Axes;

static void read_axis(Axes *axes, const Mesh *mesh, const char *name, int64_t size)
{
    snprintf(axes->name[axes->n], sizeof axes->name[0], "%s", name);
    axes->first[axes->n] = axes->next;
    for (; size > 1; size /= mesh->atoms[axes->next++].size)
        assert_int_equal(size % mesh->atoms[axes->next].size, 0);
    axes->n_atoms[axes->n] = axes->next - axes->first[axes->n];
    axes->n++;
}

static int read_atoms(const Axes *axes, Str names, uint8_t *atom)
{
    int n = 0;
    while (names.n > 0) {
        Str name = str_take(&names, ',');
        int at = 0;
        while (at < axes->n && !str_eq(name, str_from(axes->name[at])))
            at++;
        assert_true(at < axes->n);
        for (int i = 0; i < axes->n_atoms[at]; i++)
            atom[n++] = (uint8_t)(axes->first[at] + i);
    }
    return n;
}

typedef struct {
    const PlanFixture *f;
    CodeValues values;
    Axes axes;
    bool *seen; /* per tensor */
    int n, less;
} JaxRead;

static void check_row(JaxRead *r, Str table, Str hex, Str dims, Str unreduced)
{
    const Session *session = r->f->session;
    const Mesh *mesh = session->mesh;
    Str name = str_eq(hex, STR("-")) ? STR("") : unhex(r->f->arena, hex);
    int32_t t = str_eq(table, STR("OUTPUTS")) ? graph_find_tensor(session->graph, name)
                                              : tensor_of(&r->values, session->graph, name);
    if (t < 0)
        fail_msg("%.*s: nothing is called so", STR_ARG(name));
    if (str_eq(table, STR("REDUCED"))) {
        assert_true(sharding_partials(plan_sharding(session->plan, t)) != 0);
        return;
    }
    const Sharding *plan = plan_sharding(session->plan, t);
    uint8_t atom[ATOMS_MAX];
    AtomSet partial = 0;
    r->seen[t] = true;
    r->n++;
    if (str_eq(dims, STR("None"))) {
        r->less++;
        return;
    }
    for (int64_t d = 0; d < plan->n_dims; d++) {
        Str axes = str_take(&dims, '|');
        bool free = str_eq(axes, STR("U"));
        int n = free ? 0 : read_atoms(&r->axes, axes, atom);
        Cut said = cut_by(cut_size(&plan->dim[d]), atom, n, mesh);
        assert_true(!free || str_eq(table, STR("ACTIVATIONS")));
        assert_false(cut_is_uneven(&said, mesh)); /* JAX refuses it */
        check_cut(r->values.name[t], &said, &plan->dim[d], mesh, &r->less);
    }
    assert_int_equal(dims.n, 0);
    int n = str_eq(unreduced, STR("-")) ? 0 : read_atoms(&r->axes, unreduced, atom);
    for (int i = 0; i < n; i++)
        partial |= 1u << atom[i];
    assert_int_equal(partial, sharding_partials(plan));
}

static void read_rows(JaxRead *r, FILE *rows)
{
    char *line = NULL;
    size_t room = 0;
    for (ssize_t n; (n = getline(&line, &room, rows)) > 0;) {
        Str text = str_trim((Str){line, (size_t)n}), table = str_take(&text, ' ');
        Str name = str_take(&text, ' '), dims = str_take(&text, ' ');
        int64_t size;
        if (!str_eq(table, STR("AXIS")))
            check_row(r, table, name, dims, text);
        else if (str_to_int(dims, &size))
            read_axis(&r->axes, r->f->session->mesh, arena_str(r->f->arena, name), size);
    }
    free(line);
}

static void check_jax(PlanFixture *f, const char *what)
{
    char folder[] = "/tmp/dimscope-test-XXXXXX";
    Error err = {0};
    ExportNotes notes;
    assert_non_null(mkdtemp(folder));
    const char *plan = arena_printf(f->arena, "%s/plan.py", folder);
    const char *read = arena_printf(f->arena, "%s/read.py", folder);
    assert_true(file_write(plan, plan_export(f, "jax", &notes), &err));
    assert_true(file_write(read, STR(driver), &err));

    const Graph *graph = f->session->graph;
    JaxRead r = {.f = f, .values = values_of(f->session, f->arena)};
    r.seen = arena_array(f->arena, bool, graph->n_tensors);
    FILE *rows = popen(arena_printf(f->arena, "python3 %s %s", read, plan), "r");
    read_rows(&r, rows);
    if (pclose(rows) != 0)
        fail_msg("%s: Python refuses it", what);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (r.values.name[t] && !r.seen[t])
            fail_msg("%s: %s is missing", what, r.values.name[t]);
    assert_int_equal(r.axes.next, f->session->mesh->n_atoms);
    assert_true(r.n > 0);
    assert_int_equal(r.less > 0, notes_have(&notes, "no PartitionSpec can express") ||
                                     notes_have(&notes, "a reduction other than sum"));
    unlink(plan);
    unlink(read);
    rmdir(folder);
}

static void a_module_of_jax_says_the_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(plan_cases); i++) {
        PlanFixture f = plan_need(&plan_cases[i]);
        check_jax(&f, plan_cases[i].model);
        plan_close(&f);
    }
}

/* ---- MLIR ---- */

static Str unescape_mlir(Arena *arena, Str text)
{
    char *out = arena_array(arena, char, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        out[n++] = text.s[i];
        if (text.s[i] != '\\')
            continue;
        out[n - 1] = (char)strtol((char[]){text.s[i + 1], text.s[i + 2], 0}, NULL, 16);
        i += 2;
    }
    return (Str){out, n};
}

/* The name in `loc("..")` at the end of a line. */
static bool location_of(Arena *arena, Str line, Str *name)
{
    int64_t at = -1;
    for (int64_t i = 0; i + 5 < (int64_t)line.n; i++)
        if (memcmp(line.s + i, " loc(\"", 6) == 0)
            at = i + 6;
    if (at < 0)
        return false;
    Str rest = {line.s + at, line.n - (size_t)at};
    int64_t end = str_find(rest, STR("\")"));
    assert_true(end >= 0);
    *name = unescape_mlir(arena, (Str){rest.s, (size_t)end});
    return true;
}

/* The i-th `<@mesh, [..]>` of a line, as our parser of Shardy's notation reads it. */
static void check_shardings(const Session *session, Arena *arena, Str line, int32_t tensor,
                            int64_t sharding, int *less)
{
    int64_t at = str_find(line, STR("<@mesh, "));
    assert_true(at >= 0);
    Str rest = {line.s + at + 8, line.n - (size_t)at - 8};
    Buf text = buf_new(arena);
    for (size_t i = 0; i < rest.n && rest.s[i] != '>'; i++)
        if (rest.s[i] != ',' || rest.s[i - 1] != ']')
            buf_putc(&text, rest.s[i]);
    Source source = {.name = "sdy", .text = buf_str(&text)};
    Sharding said;
    Error err = {0};
    const Sharding *plan = shardings_at(session->plan->shardings, (int32_t)sharding);
    if (!sharding_parse(&source, inferred_shape(session->inferred, tensor), session->mesh,
                        VIEW_SHARDY, &said, &err))
        fail_msg("%s: %s", text.s, err.text);
    for (int64_t d = 0; d < plan->n_dims; d++)
        check_cut(tensor_name(session->graph, tensor), &said.dim[d], &plan->dim[d], session->mesh,
                  less);
    assert_int_equal(sharding_partials(&said), sharding_partials(plan));
}

static void check_mlir(PlanFixture *f, const char *what)
{
    const Session *session = f->session;
    ExportNotes notes;
    Str text = plan_export(f, "shardy", &notes);
    CodeValues values = values_of(session, f->arena);
    int n = 0, less = 0, depth = 0;

    while (text.n > 0) {
        Str line = str_take(&text, '\n'), name;
        Str code = str_trim(line);
        if (str_starts(code, STR("//")))
            continue;
        bool call = str_find(line, STR(" = stablehlo.custom_call @\"")) >= 0;
        bool argument = str_starts(code, STR("%arg"));
        bool quoted = false;
        for (size_t i = 0; i < line.n; i++) {
            quoted ^= line.s[i] == '"';
            depth += !quoted && strchr("({[", line.s[i]) ? 1 : 0;
            depth -= !quoted && strchr(")}]", line.s[i]) ? 1 : 0;
        }
        if ((!call && !argument) || !location_of(f->arena, line, &name))
            continue;
        int32_t t = tensor_of(&values, session->graph, name);
        if (t < 0)
            fail_msg("%s: %.*s: nothing is called so", what, STR_ARG(name));
        check_shardings(
            session, f->arena, line, t,
            argument ? session->plan->moved->sharding[t] : session->plan->moved->made[t], &less);
        n++;
    }
    assert_int_equal(depth, 0);
    assert_true(n > 0);
    assert_int_equal(less > 0, notes_have(&notes, "they are sharded by fewer axes"));
}

static void a_module_of_mlir_says_the_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(plan_cases); i++) {
        PlanFixture f = plan_need(&plan_cases[i]);
        check_mlir(&f, plan_cases[i].model);
        plan_close(&f);
    }
}

/* What moves in the plan is an op of the module, by the collective that does it. */
static void what_moves_is_an_op(void **state)
{
    (void)state;
    static const struct {
        PlanCase plan;
        const char *op;
        int n;
    } rows[] = {
        {{"gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua"},
         " = sdy.all_reduce {\"tp\"} ",
         24},
        {{"llama-tiny.onnx", "dp=2,tp=4", "megatron_sp"}, " = sdy.reduce_scatter [", 5},
        {{"gpt2.onnx", "dp=4", "dp"}, " = sdy.all_reduce ", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        PlanFixture f = plan_need(&rows[i].plan);
        ExportNotes notes;
        Str text = plan_export(&f, "shardy", &notes);
        int n = 0;
        for (int64_t at; (at = str_find(text, str_from(rows[i].op))) >= 0; n++)
            text = (Str){text.s + at + 1, text.n - (size_t)at - 1};
        assert_int_equal(n, rows[i].n);
        plan_close(&f);
    }
}

/* ---- names ---- */

static void names_stay_names(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    PlanCase it = {NULL, "dp=2,tp=2", NULL};
    PlanFixture f = plan_open_graph(hostile_graph(arena), &it, &propagator_explain, &err);
    assert_non_null(f.session);
    hostile_decide(&f);
    check_jax(&f, "hostile");
    check_mlir(&f, "hostile");
    plan_close(&f);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_of_jax_says_the_plan),
        cmocka_unit_test(a_module_of_mlir_says_the_plan),
        cmocka_unit_test(what_moves_is_an_op),
        cmocka_unit_test(names_stay_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
