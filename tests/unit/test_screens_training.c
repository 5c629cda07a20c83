/* Screens of a training step, and how much of a large screen stands empty: the share of tiles of 8
 * columns and 3 rows in the body without a mark. */
#include "tests/unit/screen.h"

typedef struct {
    const char *name, *keys;
    bool trains;
    int most[3]; /* percent of empty tiles: on 120x40, on 160x50, on 200x60 */
} EmptyRow;

enum { TILE_W = 8, TILE_H = 3, HEAD = 3, FOOT = 2 };

static EmptyRow empty_rows[] = {
    {"the first screen of a training step", "", true, {17, 14, 10}},
    {"an op of a training step", "/layers.0.self_attn.o_proj/MatMul<Enter>", true, {26, 13, 13}},
    {"devices", "4", true, {12, 18, 18}},
    {"communication", "5", true, {9, 4, 8}},
    {"memory", "6", true, {7, 3, 6}},
    {"two plans", "df<Enter>", true, {20, 21, 30}},
    {"the policy", "8", true, {4, 10, 21}},
    {"the run", "9", true, {8, 9, 19}},
    {"the schedule", "gp", true, {12, 11, 24}},
    {"links", ":links<Enter>", true, {18, 4, 18}},
    {"why", "w", true, {28, 14, 22}},
    {"why not", "Wt", true, {23, 10, 21}},
    {"boxes around an op", "Z", true, {3, 11, 11}},
    {"findings", "gf", true, {22, 8, 22}},
    {"events", "ge", true, {31, 22, 18}},
    {"help", "?", true, {19, 19, 22}},
    {"no errors so far", ":errors<Enter>", true, {45, 17, 28}},
    {"decisions made here", ":journal<Enter>", true, {30, 11, 20}},
    {"a searched plan", "gs", false, {20, 24, 36}},
    {"a frontier", ":search frontier seconds=600<Enter>", false, {33, 27, 40}},
    {"no second plan", "7", true, {12, 15, 16}},
    {"no second plan of a forward plan", "7", false, {6, 12, 31}},
    {"no stages", "gp", false, {9, 19, 25}},
    {"why, of a forward plan", "w", false, {29, 11, 24}},
    {"boxes around an op of a forward plan", "Z", false, {6, 18, 14}},
    {"events of a forward plan", "ge", false, {29, 23, 22}},
    {"the first screen of a forward plan", "", false, {34, 11, 29}},
    {"an op of a forward plan", "/h.0.attn.c_proj/Gemm<Enter>", false, {29, 10, 18}},
    {"devices of a forward plan", "4", false, {5, 23, 26}},
    {"memory of a forward plan", "6", false, {17, 23, 26}},
    {"the policy of a forward plan", "8", false, {2, 11, 21}},
};

static Session *open_llama(void)
{
    SessionOptions options = {.model = "samples/models/llama-3-8b.json",
                              .mesh = "pp=2,dp=2,tp=4",
                              .policy = "scripts/policies/hybrid3d.lua",
                              .train = "auto"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static bool tile_is_empty(const Grid *grid, int x, int y)
{
    for (int row = y; row < y + TILE_H; row++)
        for (int column = x; column < x + TILE_W; column++)
            if (grid->cells[row * grid->w + column].rune > ' ')
                return false;
    return true;
}

static double empty_share(const Grid *grid)
{
    int n = 0, empty = 0;
    for (int y = HEAD; y + TILE_H <= grid->h - FOOT; y += TILE_H)
        for (int x = 0; x + TILE_W <= grid->w; x += TILE_W, n++)
            empty += tile_is_empty(grid, x, y);
    return 100.0 * empty / n;
}

static void large_screens_are_used(void **state)
{
    static const int sizes[3][2] = {{120, 40}, {160, 50}, {200, 60}};
    const EmptyRow *row = *state;
    Session *session = row->trains ? open_llama() : open_gpt2();
    for (int i = 0; i < 3; i++) {
        AppOptions options = {.width = sizes[i][0]};
        App *app = app_new(session, &options, NULL, sizes[i][0], sizes[i][1]);
        app_type(app, str_from(row->keys));
        double share = empty_share(app_draw(app));
        if (share > row->most[i])
            fail_msg("%dx%d: %.1f%% of the tiles are empty, %d%% may be", sizes[i][0], sizes[i][1],
                     share, row->most[i]);
        assert_true(share > 0); /* else nothing was measured */
        app_free(app);
    }
    session_close(session);
}

static ScreenRow rows[] = {
    {"classes over all micro-batches, blocks below",
     160,
     50,
     "6",
     1,
     {"ms a column, 16 micro-batches", "┼0FF1F", "0BBBB2FF", "15BBBu"}},
    {"the same on a small screen", 80, 24, "6", 1, {"OVER THE STEP  ^ the peak", "┼F1F··0BBF"}},
    {"small parts of the peak are seen before settings are planned",
     80,
     24,
     ":set policy.recompute=full<Enter>6",
     -1,
     {"┤ AA  AA  AA", "┤OOOOOOOO", "│GGGGGGGG", "x plans each setting"}},
    {"later in the step",
     120,
     40,
     "6llll",
     5,
     {"backward of micro-batch 1 on stage 0, 2 in flight", "702.7 ms"}},
    {"other devices", 120, 40, "6j", 2, {"d8..d15", "on stage 1, 1 in flight"}},
    {"what is kept, by layer",
     120,
     40,
     "gk",
     2,
     {"14.5 GiB a micro-batch, 29.0 GiB at the peak", "AGAIN", "READ BY", "mlp.up_proj/MatMul"}},
    {"from what is kept to the op", 80, 24, "gkj<Enter>", 4, {"[1 Graph]", "input_layernorm"}},
    {"settings, each planned, from what is kept",
     80,
     24,
     "gkx",
     3,
     {"recompute=full", "−24.1 GiB"}},
    {"a row has both passes",
     160,
     50,
     "",
     0,
     {"BWD ms", "dW ms", "KEPT MiB", "70.79 149.34  46.69"}},
    {"more columns on a larger one", 200, 60, "", 0, {"BWD RESHARD", "176 AR tp"}},
    {"l on an op lists its backward ops",
     80,
     24,
     "/layers.3.mlp.down_proj/Mat<Enter>l",
     4,
     {"its backward ops", "mlp.down_proj/MatMul~d0", "mlp.down_proj/MatMul~d1"}},
    {"what is kept has a mark, and lanes end with the pass",
     80,
     24,
     "/layers.3.mlp.down_proj/Mat<Enter>",
     3,
     {" ■─┼─╯      Add ", " ├─┼─■      post_att…ayernorm"}},
    {"by the time of weights' gradients",
     80,
     24,
     ":sort weights<Enter>",
     2,
     {"rows of each group by"}},
    {"which step it is", 80, 24, ":train<Enter>", 2, {"training step: auto; :train none plans"}},
    {"communication by pass",
     160,
     50,
     "5",
     1,
     {"forward 39.3 ms ×16  backward 39.2 ms ×16  update 26.3 ms ×1 = 1.28 s a step", "A STEP▾"}},
    {"one pass", 80, 24, "5fpass:update<Enter>", 4, {"26.3 ms of 104.8 ms a micro-batch"}},
    {"no such pass", 80, 24, "5fpass:up<Enter>", 4, {"no pass 'up'", "did you mean 'update'?"}},
    {"blocks with their share of weights' gradients",
     160,
     50,
     "gp",
     2,
     {"▒▒ gradients of weights", "══▒", "with the update 4.83 s"}},
    {"streams of a stage below its blocks, and why it waits",
     160,
     50,
     "gp",
     2,
     {"STREAMS of stage 0, of its 4.81 s: ops 73.5%, tp 12.8%", "   tp    ▂▂", "waits 13.7%",
      "UNEVEN", "194.7 ms  138.9 ms   11.5 ms  315.5 ms",
      "stage 0 waits a step: uneven stages 315.5 ms, warm-up 194.7 ms"}},
    {"of the other stage, nearer", 160, 50, "gpj++++", 7, {"STREAMS of stage 1", "warm-up"}},
    {"why it waits, on a small screen",
     80,
     24,
     "gpj",
     3,
     {"stage 1 waits a step: drain 169.0 ms, warm-up 90.4 ms"}},
    {"the parts of a step and its most expensive reshards",
     160,
     50,
     "gp",
     2,
     {"WHERE A STEP'S TIME GOES", "MOST EXPENSIVE RESHARDS OF A STEP", "512  forward  AR tp"}},
    {"a setting that was tried is undone",
     80,
     24,
     ":set policy.zero=2<Enter>u",
     3,
     {"undone: zero=0: ", "38.6→46.1 GiB", "46.1/74.5 GiB ok"}},
    {"and done again",
     80,
     24,
     ":set policy.zero=2<Enter>u<C-r>",
     4,
     {"redone: zero=2: ", "46.1→38.6 GiB", "38.6/74.5 GiB ok"}},
    {"a setting that came before a pin is undone behind it",
     80,
     24,
     ":set policy.zero=2<Enter>:tensor lm_head.weight.0<Enter>:pin [R, R, R]<Enter>uu",
     8,
     {"undone: zero=0: "}},
    {"a setting of the plan beside",
     80,
     24,
     "d:zero=2<Enter>",
     4,
     {"B zero=2", "peak a device 46.1 GiB           38.6 GiB", "backward      184.6 ms", "−7.5 GiB",
      "B saves 7.5 GiB a device for 84.1 ms more a step"}},
    {"a plan beside it with fewer micro-batches",
     80,
     24,
     "d:micro_batches=8<Enter>",
     4,
     {"micro-batches 16                 8", "tokens/s dev.",
      "B is worse: +5.9% a token, with the same memory"}},
    {"the mesh beside it, in a step of its own",
     80,
     24,
     "d:pp=2,dp=4,tp=2<Enter>",
     4,
     {"mesh          pp=2,dp=2,tp=4     pp=2,dp=4,tp=2", "MFU", "bubble", "verdict"}},
    {"a parameter and its gradient in every notation",
     80,
     24,
     "/layers.0.self_attn.o_proj.weight<Enter>3",
     4,
     {"shape/axis     4096,4096/tp  gradient  4096,4096/tp Σdp",
      "placements     [R, R, S(1)]            [R, P(sum), S(1)]",
      "shardy         [{},{\"tp\"}]             [{},{\"tp\"}] unreduced={\"dp\"}",
      "states         master, m, v"}},
    {"the gradient, and whose it is",
     80,
     24,
     "/layers.0.self_attn.o_proj.weight<Enter>3gb",
     6,
     {"weight~grad", "4096,4096/tp Σdp              value     4096,4096/tp"}},
    {"a line of the policy over the whole step",
     160,
     50,
     "8j",
     2,
     {"1.22 s of reshards a step", "forward 38.3 ms ×16"}},
};

static void screen_of_a_step_has(void **state)
{
    const ScreenRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_llama();
    const char *text = screen_after(arena, session, row->w, row->h, row->keys);
    for (int i = 0; i < FACTS_MAX && row->facts[i]; i++)
        if (!strstr(text, row->facts[i]))
            screen_lacks(text, row->facts[i]);
    if (row->n_keys >= 0)
        assert_in_range(count_keys(row->keys), 0, row->n_keys);
    session_close(session);
    arena_free(arena);
}

static ScreenRow run_screens[] = {
    {"loss, values and blocks of a run on a small screen",
     80,
     24,
     "9:run steps 2<Enter>",
     3,
     {" LOSS █▁ ", "in 2 steps, one device 5.5", "0 of 90 values wrong, largest difference",
      "BLOCK   ", "update, stage 1               1"}},
    {"the curve of few losses goes over the whole width",
     200,
     60,
     "9:run steps 2<Enter>",
     3,
     {" *····", "····* ", "after 2 steps 5.5", "; o one device 5.5"}},
    {"what stages do of a micro-batch, predicted beside measured",
     160,
     50,
     "9:run fast<Enter>",
     3,
     {"BLOCK                         ×  PREDICTED   MEASURED", "forward, stage 0              2",
      "backward, stage 1             2", "update, stage 1               1"}},
};

static ScreenRow whole_screens[] = {
    {"passes below the memory of a step without stages",
     80,
     24,
     "6",
     1,
     {"┼FFFFF", "FBBBB", "Buuu"}},
    {"where its time goes, and the schedules it could have",
     160,
     50,
     "gp",
     2,
     {"the plan has no stages", "1f1b_interleaved", "(g-1)/(mv+g-1)", "WHERE A STEP'S TIME GOES"}},
    {"states are those of the parameter, behind a norm of all gradients too",
     120,
     40,
     "/h.1.mlp.c_fc.weight~grad<Enter>3",
     4,
     {"states         m, v  64,256/tp"}},
};

static Session *open_tiny_step(Arena *arena, const char *train, const char *mesh,
                               const char *policy, const char *setting)
{
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = mesh, .policy = policy, .train = train};
    Error err = {0};
    assert_true(
        policy_settings_with(arena, &options.settings, str_from(setting), &options.settings, &err));
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static void screen_of_a_tiny_step_has(const ScreenRow *row, const char *train, const char *mesh,
                                      const char *policy, const char *setting)
{
    Arena *arena = arena_new();
    Session *session = open_tiny_step(arena, train, mesh, policy, setting);
    const char *text = screen_after(arena, session, row->w, row->h, row->keys);
    for (int i = 0; i < FACTS_MAX && row->facts[i]; i++)
        if (!strstr(text, row->facts[i]))
            screen_lacks(text, row->facts[i]);
    assert_in_range(count_keys(row->keys), 0, row->n_keys);
    session_close(session);
    arena_free(arena);
}

static void screen_of_stages_has(void **state)
{
    screen_of_a_tiny_step_has(*state, "auto", "pp=2,dp=2", "pipeline", "micro_batches=2");
}

static void screen_without_stages_has(void **state)
{
    screen_of_a_tiny_step_has(*state, "adamw,clip=1", "dp=2,tp=2", "megatron", "micro_batches=1");
}

int main(void)
{
    open_scripts(NULL);
    int failed = run_rows("training", rows, screen_of_a_step_has) +
                 run_rows("run", run_screens, screen_of_stages_has) +
                 run_rows("whole", whole_screens, screen_without_stages_has) +
                 run_rows("empty", empty_rows, large_screens_are_used);
    close_scripts(NULL);
    return failed;
}
