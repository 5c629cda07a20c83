/* Plans as a module for Paddle: python3 reads it, with classes in the place of Paddle's that only
 * remember, and what it holds is what the plan says. Paddle itself: tests/differential/part_paddle.
 */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/layout/placement.h"
#include "scripts/hooks.h"
#include "core/code/values.h"
#include "viz/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Opened;

static Opened open_plan(const char *model, const char *dims, const char *mesh, const char *policy)
{
    Opened opened = {.arena = arena_new()};
    opened.scripts = scripts_new(opened.arena, ".");
    SessionHooks hooks = scripts_hooks(opened.scripts);
    SessionOptions options = {.mesh = mesh, .policy = policy};
    options.model =
        model[0] == '/' ? model : arena_printf(opened.arena, "samples/models/%s", model);
    Error err = {0};
    Source source = {"--dim", str_from(dims)};
    assert_true(!dims[0] || dims_parse(opened.arena, &source, &options.dims, &err));
    opened.session = session_open(&options, &hooks, &err);
    if (!opened.session)
        fail_msg("%s", err.text);
    return opened;
}

static void close_plan(Opened *opened)
{
    session_close(opened->session);
    scripts_free(opened->scripts);
    arena_free(opened->arena);
}

static Str export(const Opened *opened, ExportNotes *notes)
{
    ExportRequest request = {.drawing = {.session = opened->session}};
    Buf text = buf_new(opened->arena);
    Error err = {0};
    *notes = (ExportNotes){.arena = opened->arena};
    assert_true(
        export_write(export_format_find(STR("paddle"), true), &request, &text, notes, &err));
    return buf_str(&text);
}

/* Modules in the place of numpy and Paddle; what the tables hold is printed, names in hex. */
static const char before[] =
    "import sys, types\n"
    "def module(name, **members):\n"
    "    sys.modules[name] = types.ModuleType(name)\n"
    "    sys.modules[name].__dict__.update(members)\n"
    "class Replicate:\n"
    "    def __repr__(self): return 'R'\n"
    "class Shard:\n"
    "    def __init__(self, dim, split_factor=1, shard_order=None):\n"
    "        self.text = f'S({dim})' if split_factor == 1 else f'S({dim},{split_factor})'\n"
    "        self.text += '' if shard_order is None else f'@{shard_order}'\n"
    "    def __repr__(self): return self.text\n"
    "class Partial:\n"
    "    def __init__(self, reduce='sum'): self.reduce = reduce\n"
    "    def __repr__(self): return f'P({self.reduce})'\n"
    "class ReduceType:\n"
    "    kRedAvg, kRedMax, kRedMin, kRedProd = 'avg', 'max', 'min', 'prod'\n"
    "    kRedAny, kRedAll = 'any', 'all'\n"
    "module('numpy')\n"
    "module('paddle')\n"
    "module('paddle.distributed', Replicate=Replicate, Shard=Shard, Partial=Partial,\n"
    "       ReduceType=ReduceType)\n"
    "sys.modules['paddle'].distributed = sys.modules['paddle.distributed']\n";
static const char after[] =
    "\nfor table in (PARAMETERS, INPUTS, ACTIVATIONS):\n"
    "    for name, (shape, placements) in table.items():\n"
    "        where = ';'.join(ON.get(name, ('',)))\n"
    "        print(name.encode().hex(), list(shape), placements and list(placements), where,\n"
    "              sep='\\t')\n"
    "for part, (processes, shape) in PARTS.items():\n"
    "    print('part', part, list(processes), list(shape), sep='\\t')\n"
    "print('mesh', dict(zip(MESH_DIM_NAMES, MESH_SHAPE)), sep='\\t')\n";

static bool python_is_there(void)
{
    return system("python3 -c 0 >/dev/null 2>&1") == 0;
}

static Str python(Arena *arena, Str module)
{
    char path[] = "/tmp/dimscope-test-XXXXXX";
    int fd = mkstemp(path);
    Error err = {0};
    Buf text = buf_new(arena), said = buf_new(arena);
    assert_true(fd >= 0 && close(fd) == 0);
    buf_puts(&text, before);
    buf_add(&text, module);
    buf_puts(&text, after);
    assert_true(file_write(path, buf_str(&text), &err));
    FILE *program = popen(arena_printf(arena, "python3 -I %s 2>&1", path), "r");
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, program)) > 0;)
        buf_add(&said, (Str){piece, n});
    int status = pclose(program);
    unlink(path);
    if (status != 0)
        fail_msg("python3 says %.*s", (int)said.n, said.s);
    return buf_str(&said);
}

/* ---- what the plan says ---- */

static void put_hex(Str text, Buf *out)
{
    for (size_t i = 0; i < text.n; i++)
        buf_printf(out, "%02x", (unsigned)(unsigned char)text.s[i]);
}

/* "[S(0), R]", with factors of both kinds as S(0,3). */
static bool put_placements(const Opened *opened, int32_t tensor, Buf *out)
{
    Placement placements[MESH_AXES_MAX];
    const Mesh *mesh = opened->session->mesh;
    const Plan *plan = opened->session->plan;
    if (!placements_of(shardings_at(plan->shardings, plan->moved->made[tensor]), mesh, placements,
                       NULL))
        return false;
    for (int a = 0; a < mesh->n_axes; a++) {
        buf_puts(out, a ? ", " : "[");
        if (placements[a].kind == PLACE_INTERLEAVED || placements[a].kind == PLACE_STRIDED)
            buf_printf(out, "S(%d,%" PRId64 ")", placements[a].dim, placements[a].factor);
        else
            placement_format(&placements[a], false, out);
    }
    buf_putc(out, ']');
    return true;
}

static void put_where(const Opened *opened, int32_t tensor, Buf *out)
{
    int part[64], n = values_parts(opened->session->plan, tensor, part, 64);
    for (int i = 0; i < n; i++) {
        buf_puts(out, i ? ";" : "");
        submesh_format(opened->session->mesh, opened->session->plan->decided->submeshes[part[i]],
                       out);
    }
}

/* The line that Python prints of a tensor; as it is without placements where said is false. */
static const char *line_of(const Opened *opened, const CodeValues *values, int32_t tensor,
                           bool said)
{
    Buf out = buf_new(opened->arena);
    const Shape *shape = inferred_shape(opened->session->inferred, tensor);
    put_hex(str_from(values->name[tensor]), &out);
    buf_puts(&out, "\t[");
    for (int64_t d = 0; d < shape->n_dims; d++)
        buf_printf(&out, "%s%" PRId64, d ? ", " : "", shape->dim[d]);
    buf_puts(&out, "]\t");
    if (!said)
        buf_puts(&out, "None");
    else if (!put_placements(opened, tensor, &out))
        return NULL;
    buf_putc(&out, '\t');
    put_where(opened, tensor, &out);
    buf_putc(&out, '\n');
    return out.s;
}

typedef struct {
    const char *name, *model, *dims, *mesh, *policy;
    bool unsaid; /* there are shardings that Paddle cannot say */
} PlanRow;

static PlanRow plan_rows[] = {
    {"megatron", "tiny-gpt.onnx", "", "dp=2,tp=4", "megatron", false},
    {"gpt2", "gpt2.onnx", "", "dp=2,tp=4", "megatron", false},
    {"an uneven head", "gpt2.onnx", "batch=3,seq=7", "dp=2,tp=8", "megatron", true},
    {"fsdp", "llama-tiny.onnx", "", "dp=2", "fsdp", false},
    {"ranks that hold nothing", "tiny-gpt.onnx", "", "dp=4", "fsdp", true},
    {"stages", "tiny-gpt.onnx", "", "pp=2,dp=2,tp=2", "hybrid3d", false},
    {"sequence", "llama-tiny.onnx", "", "dp=2,tp=2", "megatron_sp", false},
    {"experts", "mixtral-8x7b.json", "", "dp=2,ep=2", "expert", false},
};

/* Each line is that of the plan: as many as there are tensors, in order. */
static void tables_hold_the_plan(void **state)
{
    const PlanRow *row = *state;
    if (!python_is_there())
        skip();
    Opened opened = open_plan(row->model, row->dims, row->mesh, row->policy);
    ExportNotes notes;
    Str said = python(opened.arena, export(&opened, &notes));
    CodeValues values = values_of(opened.session, opened.arena);
    const Graph *graph = opened.session->graph;
    int n_unsaid = 0, n = 0;
    for (int i = 0; i < values.n_parameters + graph->n_inputs + values.n_made; i++) {
        int k = i - values.n_parameters;
        int32_t t = k < 0                 ? values.parameter[i]
                    : k < graph->n_inputs ? graph->inputs[k]
                                          : values.made[k - graph->n_inputs];
        if (!values.name[t])
            continue;
        const char *placed = line_of(&opened, &values, t, true);
        const char *bare = line_of(&opened, &values, t, false);
        /* loops of the module bring a dict's entries into another order */
        bool as_placed = placed && str_find(said, str_from(placed)) >= 0;
        if (!as_placed && str_find(said, str_from(bare)) < 0)
            fail_msg("%s: %s", tensor_name(graph, t), placed ? placed : bare);
        n_unsaid += !as_placed;
        n++;
    }
    int n_lines = 0;
    for (size_t i = 0; i < said.n; i++)
        n_lines += said.s[i] == '\n';
    assert_int_equal(n_lines, n + opened.session->plan->decided->n_submeshes + 1);
    assert_int_equal(n_unsaid > 0, row->unsaid);
    bool noted = false;
    for (int i = 0; i < notes.at.n; i++)
        noted |= strstr(notes.at.at[i], "cannot be expressed by Paddle's placements") != NULL;
    assert_int_equal(noted, row->unsaid);
    close_plan(&opened);
}

/* Two times the same, and no longer than the plan deserves: layers are loops. */
static void equal_plans_give_equal_bytes(void **state)
{
    (void)state;
    Opened a = open_plan("gpt2.onnx", "", "dp=2,tp=4", "megatron");
    Opened b = open_plan("gpt2.onnx", "", "dp=2,tp=4", "megatron");
    ExportNotes notes;
    Str first = export(&a, &notes), second = export(&b, &notes);
    assert_true(str_eq(first, second));
    assert_true(str_find(first, STR("for i in range(12):")) > 0);
    assert_true(str_find(first, STR("h.11.")) < 0);
    close_plan(&a);
    close_plan(&b);
}

/* Names that would end a text, a line or a comment of Python stay what they are. */
static void hostile_names_stay_names(void **state)
{
    (void)state;
    if (!python_is_there())
        skip();
    static const char model[] =
        "function MODEL(model, config)\n"
        "    local names = {'a\"b\\\\', \"it's\\n# x = 1\", '{i}{{%s', '\\226\\128\\174rtl', "
        "'\"\"\"', 'h.0.w\"', 'h.1.w\"', ('n'):rep(400)}\n"
        "    local x = model:input('in\"put', 'f32', {8, 16})\n"
        "    for i, name in ipairs(names) do\n"
        "        x = model:op('Add', {x, model:param(name, {8, 16}, 'f32')})\n"
        "    end\n"
        "    model:output(x, 'out')\n"
        "end\n";
    char path[] = "/tmp/dimscope-test-XXXXXX.lua";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_true(file_write(path, str_from(model), NULL));
    Opened opened = open_plan(path, "", "dp=2", "dp");
    unlink(path);
    ExportNotes notes;
    Str said = python(opened.arena, export(&opened, &notes));
    CodeValues values = values_of(opened.session, opened.arena);
    assert_int_equal(values.n_parameters, 8);
    for (int i = 0; i < values.n_parameters; i++)
        assert_true(
            str_find(said, str_from(line_of(&opened, &values, values.parameter[i], true))) >= 0);
    close_plan(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_plans_give_equal_bytes),
        cmocka_unit_test(hostile_names_stay_names),
    };
    return run_rows("plans", plan_rows, tables_hold_the_plan) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
