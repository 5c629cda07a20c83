/* The figure of a layer: operators stand where collectives are, stripes are shards, nothing covers
 * anything. */
#include "tests/unit/opened.h"

#include "viz/diagram.h"

static Opened open_with(const char *model, const char *mesh, const char *policy)
{
    return open_options(&(SessionOptions){.model = model, .mesh = mesh, .policy = policy});
}

static Diagram *draw(const Opened *f, double width)
{
    DiagramRequest request = {.session = f->session, .kind = DIAGRAM_LAYER, .width = width};
    Error err = {0};
    Diagram *diagram = diagram_make(f->arena, &request, &err);
    if (!diagram)
        fail_msg("%s", err.text);
    return diagram;
}

/* The operators from top to bottom, with what stands beside each: "f bwd AR tp 12.0 MiB". */
static const char *operators(Arena *arena, const Diagram *diagram)
{
    Buf out = buf_new(arena);

    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        if (box->look != BOX_CIRCLE)
            continue;
        buf_printf(&out, "%s%.*s", out.n > 0 ? " | " : "", STR_ARG(box->flow.str));
        for (int k = i + 1; k < i + 3 && k < diagram->n_boxes; k++)
            if (str_starts(diagram->boxes[k].flow.str, STR("fwd")) ||
                str_starts(diagram->boxes[k].flow.str, STR("bwd"))) {
                buf_printf(&out, " %.*s", STR_ARG(diagram->boxes[k].flow.str));
                break;
            }
    }
    for (size_t i = 0; i < out.n; i++)
        out.s[i] = out.s[i] == '\n' ? ',' : out.s[i];
    return out.s;
}

#define NB "\xc2\xa0"

typedef struct {
    const char *name, *model, *mesh, *policy, *want;
} OperatorRow;

static OperatorRow operator_rows[] = {
    {"Megatron: f before, g behind each half", "samples/models/gpt2.onnx", "dp=2,tp=4", "megatron",
     "f bwd AR tp 12.0" NB "MiB | g fwd AR tp 12.0" NB "MiB | + | "
     "f bwd AR tp 12.0" NB "MiB | g fwd AR tp 12.0" NB "MiB | +"},
    {"sequence parallel: gathered and scattered", "samples/models/llama-3-8b.json", "dp=2,tp=4",
     "megatron_sp",
     "f\xcc\x84 fwd AG tp 128.0" NB "MiB,bwd RS tp 128.0" NB "MiB | "
     "g\xcc\x84 fwd RS tp 128.0" NB "MiB,bwd AG tp 128.0" NB "MiB | + | "
     "f\xcc\x84 fwd AG tp 128.0" NB "MiB,bwd RS tp 128.0" NB "MiB | "
     "g\xcc\x84 fwd RS tp 128.0" NB "MiB,bwd AG tp 128.0" NB "MiB | +"},
    {"data parallel: none on activations", "samples/models/llama-3-8b.json", "dp=8", "fsdp",
     "+ | +"},
};

static void operators_stand_where_collectives_are(void **state)
{
    const OperatorRow *row = *state;
    Opened f = open_with(row->model, row->mesh, row->policy);
    assert_string_equal(operators(f.arena, draw(&f, PAPER_COLUMN)), row->want);
    close_opened(&f);
}

/* Fills of a weight, and how many of them have the colour of an axis: one shard of each part. */
static void count_stripes(const Diagram *diagram, const char *module, int *n, int *coloured)
{
    *n = *coloured = 0;
    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        if (box->look != BOX_FILL || strcmp(box->why, module) != 0)
            continue;
        *n += 1;
        *coloured += box->ink >= 0;
    }
}

static void stripes_are_shards(void **state)
{
    (void)state;
    static const struct {
        const char *module;
        int n, coloured;
    } rows[] = {{"c_attn", 12, 3}, /* q, k, v in four shards each */
                {"c_fc", 4, 1},
                {"c_proj", 8, 2}}; /* attn's and mlp's */
    Opened f = open_with("samples/models/gpt2.onnx", "dp=2,tp=4", "megatron");
    const Diagram *diagram = draw(&f, PAPER_COLUMN);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int n, coloured;
        count_stripes(diagram, rows[i].module, &n, &coloured);
        assert_int_equal(n, rows[i].n);
        assert_int_equal(coloured, rows[i].coloured);
    }
    close_opened(&f);
}

static bool overlap(DiagramPlace a, DiagramPlace b)
{
    double by = 0.5;
    return a.x + by < b.x + b.w && b.x + by < a.x + a.w && a.y + by < b.y + b.h &&
           b.y + by < a.y + a.h;
}

static bool is_in(DiagramPlace a, DiagramPlace b)
{
    return b.x <= a.x && a.x + a.w <= b.x + b.w && b.y <= a.y && a.y + a.h <= b.y + b.h;
}

/* With the blank that two texts side by side have between them. */
static DiagramPlace wider(DiagramPlace a)
{
    double blank = 4;
    return (DiagramPlace){a.x - blank, a.y, a.w + 2 * blank, a.h};
}

typedef struct {
    const char *name, *mesh, *policy;
} FigureRow;

static FigureRow figure_rows[] = {
    {"samples/models/gpt2.onnx", "dp=2,tp=4", "megatron"},
    {"samples/models/gpt2-dynamo.onnx", "dp=2,tp=4", "megatron"},
    {"samples/models/llama-3-8b.json", "dp=2,tp=4", "megatron_sp"},
    {"samples/models/llama-3-70b.json", "dp=8", "fsdp"},
    {"samples/models/llama-tiny.onnx", "dp=2,tp=2", "megatron"},
    {"samples/models/tiny-gpt.onnx", "dp=2,tp=2", "megatron"},
    {"samples/models/mixtral-8x7b.json", "dp=2,tp=4", "megatron"},
    {"samples/models/mixtral-8x7b.json", "dp=2,ep=4", "expert"},
    {"samples/models/resnet50.onnx", "dp=8", "fsdp"},
    {"samples/models/deepseek-v3.json", "dp=2,tp=4", "megatron"},
    {"samples/models/vit_b_16.onnx", "dp=2,tp=4", "megatron"},
    {"tests/differential/configs/t5.json", "dp=2,tp=2", "megatron"},
    {"tests/differential/configs/bert.json", "dp=2,tp=2", "megatron"},
    {"tests/differential/configs/mamba.json", "dp=2,tp=2", "megatron"},
};

/* In a column of a paper: everything within the page, and no text over a text or a border. */
static void nothing_covers_anything(void **state)
{
    const FigureRow *row = *state;
    Opened f = open_with(row->name, row->mesh, row->policy);
    const Diagram *diagram = draw(&f, PAPER_COLUMN);

    assert_true(diagram->points >= 7);
    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *a = &diagram->boxes[i];
        if (a->place.x < -0.1 || a->place.x + a->place.w > PAPER_COLUMN + 0.1)
            fail_msg("'%.*s' is outside of the page", STR_ARG(a->flow.str));
        for (int k = i + 1; k < diagram->n_boxes; k++) {
            const DiagramBox *b = &diagram->boxes[k];
            bool texts = a->look == BOX_TEXT || b->look == BOX_TEXT;
            bool inside = is_in(a->place, b->place) || is_in(b->place, a->place);
            bool both = a->look == BOX_OP && b->look == BOX_OP;
            bool close =
                a->look == BOX_TEXT && b->look == BOX_TEXT && overlap(wider(a->place), b->place);
            if (close || (overlap(a->place, b->place) && (both || (texts && !inside))))
                fail_msg("'%.*s' covers '%.*s'", STR_ARG(a->flow.str), STR_ARG(b->flow.str));
        }
    }
    close_opened(&f);
}

typedef struct {
    const char *name, *model, *title, *other;
} TitleRow;

static TitleRow title_rows[] = {
    {"attention among its projections", "samples/models/llama-3-8b.json", "attention", "scan"},
    {"a scan that is a module", "tests/differential/configs/mamba.json", "scan", "attention"},
};

static bool has_box(const Diagram *diagram, const char *title)
{
    for (int i = 0; i < diagram->n_boxes; i++)
        if (str_eq(diagram->boxes[i].flow.str, str_from(title)))
            return true;
    return false;
}

static void modules_have_their_names(void **state)
{
    const TitleRow *row = *state;
    Opened f = open_with(row->model, "dp=2,tp=2", "megatron");
    const Diagram *diagram = draw(&f, PAPER_COLUMN);
    assert_true(has_box(diagram, row->title));
    assert_false(has_box(diagram, row->other));
    close_opened(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stripes_are_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("operators", operator_rows, operators_stand_where_collectives_are) +
           run_rows("titles", title_rows, modules_have_their_names) +
           run_rows("figures", figure_rows, nothing_covers_anything);
}
