/* The pipeline on the screen: what the rows, the cursor and the table of stages say. */
#include "tests/unit/screen.h"

#include "core/plan/stage.h"

enum { MANY = 16 };

/* tiny-gpt in stages, four micro-batches. */
static Session *open_stages(const char *schedule, int n_stages)
{
    Arena *arena = arena_new();
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx"};
    options.mesh = arena_printf(arena, "pp=%d,tp=2", n_stages);
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    Decision decisions[2 * MANY + 1] = {{0}};
    int n_ops = session->inferred->n_program, n = 0;
    for (int s = 0; s < n_stages; s++) {
        int first = n_ops * s / n_stages, last = n_ops * (s + 1) / n_stages - 1;
        SubMesh devices;
        Source part = {"devices", str_from(arena_printf(arena, "pp=%d", s))};
        assert_true(submesh_parse(session->mesh, &part, &devices, &err));
        decisions[n++] =
            (Decision){.kind = PIN_STAGE, .place = session->inferred->program[first], .dim = -1};
        decisions[n++] = (Decision){.kind = PIN_DEVICES,
                                    .place = session->inferred->program[first],
                                    .dim = -1,
                                    .last = session->inferred->program[last],
                                    .devices = devices};
    }
    decisions[n++] = (Decision){.kind = PIN_SCHEDULE, .dim = -1, .schedule = schedule, .number = 4};
    for (int i = 0; i < n; i++)
        decisions[i].origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    if (!session_apply(session, decisions, n, &err))
        fail_msg("%s", err.text);
    arena_free(arena);
    return session;
}

typedef struct {
    const char *name, *schedule, *keys;
    const char *facts[FACTS_MAX];
} ScheduleRow;

static ScheduleRow rows[] = {
    {"the pipeline",
     "1f1b",
     "gp",
     {"1f1b, 4 micro-batches on 2 stages: ", ", bubble ", "20.0% with equal stages: (n-1)/(m+n-1)",
      "a backward slot counts twice its forward: there is no backward graph", ">s0 pp=0 0",
      "stage 0, forward of micro-batch 0: step 0, 0 us to ", "starts at once"}},
    {"along a row", "1f1b", "gpl", {"stage 0, forward of micro-batch 1: step 2, "}},
    {"down to what runs then", "gpipe", "gpj", {">s1 pp=1", "stage 1, forward of micro-batch 0"}},
    {"to what needs it, and back",
     "1f1b",
     "gpgdgdgu",
     {"stage 1, forward of micro-batch 0",
      "waits for stage 0's forward of micro-batch 0, sent in"}},
    {"to the end of it",
     "1f1b",
     "gpgdgdgd",
     {"stage 0, backward of micro-batch 0: step 3, ",
      "waits for stage 1's backward of micro-batch 0"}},
    {"steps", "gpipe", "gp=", {"step 0  one step = ", "step 10"}},
    {"zoomed", "1f1b", "gp+", {"50% of it"}},
    {"devices", "infer_pipe", "gpc", {">pp=0 0", " pp=1 "}},
    {"stages below", "gpipe", "gp", {" STAGE DEVICES", "IN FLIGHT", "     1 pp=1"}},
    {"what does not fit",
     "chimera_direct",
     "gp",
     {"chimera_direct takes 4 stages and an even number of micro-batches, not 2 and 4",
      "these stages have devices of their own: 1f1b, gpipe, zb1p, infer_pipe"}},
    {"its ops", "1f1b", "gpj<Enter>", {"[1 Graph]", " STG "}},
    {"told in the timeline", "1f1b", "9", {"; 0: 4 micro-batches", "\n pp=0 ", "\n pp=1 "}},
    {"collectives are one micro-batch's",
     "1f1b",
     "5",
     {" a micro-batch, ", " sent per device of each stage"}},
    {"memory is one micro-batch's", "1f1b", "6", {" peak of the forward micro-batch by device"}},
    {"another schedule",
     "1f1b",
     "ig:schedule('gpipe', {micro_batches = 8})<Enter>",
     {"plan changed: 1 decision: micro-batch ", "step now "}},
    {"what a row of time is", "1f1b", "9?", {"line for each stage and one micro-batch"}},
    {"a device's stage", "1f1b", "4j", {"node 0  stage 1"}},
};

static void shows(void **state)
{
    const ScheduleRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_stages(row->schedule, 2);
    const char *text = screen_after(arena, session, 80, 24, row->keys);
    for (int i = 0; i < FACTS_MAX && row->facts[i]; i++)
        if (!strstr(text, row->facts[i]))
            screen_lacks(text, row->facts[i]);
    session_close(session);
    arena_free(arena);
}

/* A view without a list says which rows are shown as lists do. */
static void says_which_rows_are_shown(void **state)
{
    static const struct {
        const char *keys, *range;
    } cases[] = {{"gp", "1-12/16"}, {"gpGjjjjjjjjjjjjjjj", "5-16/16"}, {"gp:mesh<Enter>6", "/16"}};
    (void)state;
    Session *session = open_stages("1f1b", MANY);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena *arena = arena_new();
        const char *text = screen_after(arena, session, 80, 24, cases[i].keys);
        if (!strstr(text, cases[i].range))
            screen_lacks(text, cases[i].range);
        arena_free(arena);
    }
    session_close(session);
}

/* Every size and every key leaves the cursor on a block, and all in its lines. */
static void fits_any_size(void **state)
{
    (void)state;
    static const int sizes[][2] = {{40, 10}, {60, 20}, {131, 31}, {160, 50}};
    static const char *const keys[] = {"gp",        "gpjllll", "gpc=GG",
                                       "gp++++hhh", "gp-----", "gp=c+jk"};
    Session *session = open_stages("1f1b", 2);
    for (size_t size = 0; size < COUNT_OF(sizes); size++)
        for (size_t k = 0; k < COUNT_OF(keys); k++) {
            Arena *arena = arena_new();
            int lines = 0;
            const char *text = screen_after(arena, session, sizes[size][0], sizes[size][1],
                                            arena_printf(arena, "~%s", keys[k]));
            for (const char *s = text; *s; lines++) {
                size_t n = strcspn(s, "\n");
                assert_true((int)n <= sizes[size][0]);
                s += n + 1;
            }
            assert_int_equal(lines, sizes[size][1]);
            arena_free(arena);
        }
    session_close(session);
}

int main(void)
{
    open_scripts(NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(fits_any_size),
                                       cmocka_unit_test(says_which_rows_are_shown)};
    int failed = run_rows("schedule screens", rows, shows) +
                 cmocka_run_group_tests_name("schedule sizes", tests, NULL, NULL);
    close_scripts(NULL);
    return failed;
}
