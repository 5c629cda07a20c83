/* Views of one op, tensor, mesh and chain, drawn into panes of any size: nothing is written beside
 * the pane, whatever the model, the mesh and the cursor. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/app/app.h"

typedef struct {
    const char *name, *model, *mesh, *policy, *dims; /* dims: NULL, all are known */
} SampleRow;

static SampleRow rows[] = {
    {"gpt2", "samples/models/gpt2.onnx", "dp=2,tp=4", "scripts/policies/megatron.lua", NULL},
    {"gpt2, four axes", "samples/models/gpt2.onnx", "a=2,b=3,c=2,d=2", NULL, NULL},
    {"gpt2, a thousand", "samples/models/gpt2.onnx", "dp=64,tp=16", "scripts/policies/megatron.lua",
     NULL},
    {"gpt2, one device", "samples/models/gpt2.onnx", "x=1", NULL, NULL},
    {"gpt2, a hundred thousand", "samples/models/gpt2.onnx", "dp=3125,tp=32",
     "scripts/policies/megatron.lua", NULL},
    {"gpt2, in a row", "samples/models/gpt2.onnx", "x=100000", NULL, NULL},
    {"llama", "samples/models/llama-tiny.onnx", "dp=3,tp=2", "scripts/policies/megatron.lua", NULL},
    {"resnet", "samples/models/resnet50.onnx", "dp=2,h=3", NULL, NULL},
    {"tiny conv", "samples/models/tiny-conv.onnx", "dp=8", NULL, NULL},
    {"vit", "samples/models/vit_b_16.onnx", "dp=2,tp=2", "scripts/policies/megatron.lua", NULL},
    {"control", "tests/models/control.onnx", "dp=2", NULL, "N=4,S=6"},
    {"moe", "tests/models/moe.onnx", "dp=2,ep=2", NULL, "batch=4,seq=6"},
    {"columns", "tests/models/sklearn-columns.onnx", "dp=2", NULL, "N=6"},
};

static SessionHooks hooks;
static uint32_t seed;

static int draw_lot(int n)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)n);
}

/* What stands beside the pane is as it was. */
static void assert_kept(const Grid *grid, Rect area, const char *what)
{
    for (int y = 0; y < grid->h; y++)
        for (int x = 0; x < grid->w; x++)
            if (!rect_has(area, x, y) && grid->cells[y * grid->w + x].rune != '#')
                fail_msg("%s in %dx%d writes beside it, at %d,%d", what, area.w, area.h, x - area.x,
                         y - area.y);
}

static void draw_somewhere(Ui *ui, ShowId show)
{
    static const ActId acts[] = {ACT_DOWN, ACT_UP,       ACT_LEFT,      ACT_RIGHT,    ACT_BOTTOM,
                                 ACT_TOP,  ACT_DIM_NEXT, ACT_SHOW_MESH, ACT_PAGE_DOWN};
    Arena *arena = arena_new();
    int w = 1 + draw_lot(draw_lot(3) ? 90 : 300), h = 1 + draw_lot(draw_lot(3) ? 30 : 100);
    Grid *grid = grid_new(arena, w + 4, h + 4, draw_lot(2) != 0);
    Rect area = {2, 2, w, h};

    for (int i = 0; i < grid->w * grid->h; i++)
        grid->cells[i] = (Cell){.rune = '#', .width = 1};
    ui->at.show = show;
    for (int i = draw_lot(6); i > 0; i--)
        views[show]->act(ui, acts[draw_lot(COUNT_OF(acts))]);
    ui->at.show = show;
    Pen pen = pen_new(grid, area);
    views[show]->draw(ui, &pen);
    assert_kept(grid, area, views[show]->name);
    arena_free(arena);
}

static void panes_keep_to_themselves(void **state)
{
    static const ShowId shows[] = {SHOW_OP, SHOW_TENSOR, SHOW_MESH, SHOW_WHY};
    const SampleRow *row = *state;
    SessionOptions session_options = {
        .model = row->model, .mesh = row->mesh, .policy = row->policy};
    Source dims = {.name = "dims", .text = str_from(row->dims ? row->dims : "")};
    Arena *arena = arena_new();
    Error err = {0};
    assert_true(!row->dims || dims_parse(arena, &dims, &session_options.dims, &err));
    Session *session = session_open(&session_options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    app_draw(app);
    seed = 7;
    for (int i = 0; i < 60; i++) {
        Ui *ui = &app->ui;
        ui_select_op(ui, draw_lot(session->graph->n_ops));
        if (draw_lot(2))
            ui_select_tensor(ui, draw_lot(session->graph->n_tensors));
        ui->rank = draw_lot((int)session->mesh->n_devices);
        for (int turn = draw_lot(12); turn > 0; turn--)
            view_mesh.act(ui, ACT_DIM_NEXT);
        ui->at.item = draw_lot(9) ? ui->at.item : 0;
        draw_somewhere(ui, shows[draw_lot(COUNT_OF(shows))]);
        app_draw(app); /* the frame's memory goes */
    }
    app_free(app);
    session_close(session);
    arena_free(arena);
}

int main(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    hooks = scripts_hooks(scripts);
    int failed = run_rows("panes", rows, panes_keep_to_themselves);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}
