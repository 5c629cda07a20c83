/* Charts: a bar is as long as what it stands for, on a page of the width that was asked for. */
#include "tests/unit/opened.h"

#include "core/base/file.h"
#include "core/cost/memory.h"
#include "core/cost/pipeline_idle.h"
#include "core/cost/slot_pieces.h"
#include "viz/diagram.h"
#include "viz/paper.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static Opened open_step(void)
{
    return open_options(&(SessionOptions){.model = "samples/models/llama-3-8b.json",
                                          .mesh = "pp=2,dp=2,tp=4",
                                          .policy = "hybrid3d",
                                          .train = "auto"});
}

static Diagram *draw(const Opened *f, DiagramKind kind, double width)
{
    DiagramRequest request = {.session = f->session, .kind = kind, .width = width};
    Error err = {0};
    Diagram *diagram = diagram_make(f->arena, &request, &err);
    if (!diagram)
        fail_msg("%s", err.text);
    return diagram;
}

static void assert_in_page(const Diagram *diagram, double width)
{
    for (int i = 0; i < diagram->n_boxes; i++) {
        DiagramPlace place = diagram->boxes[i].place;
        if (place.x < -0.01 || place.x + place.w > width + 0.01)
            fail_msg("box %d '%s' from %.1f to %.1f of %.1f", i, diagram->boxes[i].flow.str.s,
                     place.x, place.x + place.w, width);
    }
}

/* A box for each block and lane, from its start to its end in one scale; lanes do one at a time. */
static void blocks_of_the_schedule_are_as_wide_as_they_take(void **state)
{
    (void)state;
    Opened f = open_step();
    const Schedule *table = plan_schedule(f.session->plan);
    const Diagram *diagram = draw(&f, DIAGRAM_SCHEDULE, PAPER_COLUMN);
    const DiagramBox *first = NULL, *last = NULL;
    int n = 0;

    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        if (box->look != BOX_FILL || !box->why || !strstr(box->why, "micro-batch"))
            continue;
        first = first ? first : box;
        last = box;
        n++;
    }
    assert_int_equal(n, table->n_blocks); /* a lane a stage here */
    double scale = first->place.w / (table->block[0].end_us - table->block[0].start_us);
    for (int i = 0, b = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        if (box->look != BOX_FILL || !box->why || !strstr(box->why, "micro-batch"))
            continue;
        const Block *block = &table->block[b++];
        assert_true(fabs(box->place.w - (block->end_us - block->start_us) * scale) < 1e-6);
        assert_true(fabs(box->place.x - first->place.x - block->start_us * scale) < 1e-6);
    }
    assert_true(last->place.x > first->place.x);
    assert_in_page(diagram, PAPER_COLUMN);
    close_opened(&f);
}

static void bars_of_memory_are_as_long_as_their_classes(void **state)
{
    (void)state;
    Opened f = open_step();
    const Diagram *diagram = draw(&f, DIAGRAM_MEMORY, PAPER_COLUMN);
    MemoryAccount *account = memory_account_new(f.session->plan);
    RankMemories ranks = memory_ranks(f.arena, account, NULL);
    double sum[2] = {0}, y = -1;
    int row = -1;

    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        if (box->look != BOX_FILL || !strchr(box->why, ':'))
            continue; /* the key has names alone */
        row += box->place.y > y;
        y = box->place.y;
        sum[row] += box->place.w;
    }
    assert_int_equal(ranks.n, 2);
    double want = (double)ranks.at[1].use.peak_bytes / (double)ranks.at[0].use.peak_bytes;
    assert_true(fabs(sum[1] / sum[0] - want) < 0.01);
    assert_in_page(diagram, PAPER_COLUMN);
    assert_in_page(draw(&f, DIAGRAM_STEP, PAPER_COLUMN), PAPER_COLUMN);
    memory_account_free(account);
    close_opened(&f);
}

/* The highest column is as high as the peak on the scale at its left. */
static void the_curve_of_a_step_reaches_its_peak(void **state)
{
    (void)state;
    Opened f = open_step();
    const Diagram *diagram = draw(&f, DIAGRAM_STEP, PAPER_COLUMN);
    MemoryAccount *account = memory_account_new(f.session->plan);
    RankMemories ranks = memory_ranks(f.arena, account, NULL);
    double top = INFINITY, zero = 0, twenty = 0;

    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        if (box->look == BOX_AREA && box->place.y < top)
            top = box->place.y;
        if (str_eq(box->flow.str, STR("0 GiB")))
            zero = box->place.y + box->place.h / 2;
        if (str_eq(box->flow.str, STR("20")))
            twenty = box->place.y + box->place.h / 2;
    }
    double gib = 1024.0 * 1024 * 1024;
    double peak = (zero - top) / (zero - twenty) * 20 * gib;
    assert_true(fabs(peak / (double)ranks.at[0].use.peak_bytes - 1) < 1e-3);
    memory_account_free(account);
    close_opened(&f);
}

/* It is of the whole step: a backward pass of each micro-batch frees what its forward pass saved.
 */
static void the_curve_of_a_step_falls_with_each_micro_batch(void **state)
{
    (void)state;
    enum { POINTS = 234 };
    Opened f = open_step();
    const Diagram *diagram = draw(&f, DIAGRAM_STEP, PAPER_COLUMN);
    double top[POINTS], low = 0, high = INFINITY;
    int n_falls = 0;
    bool is_high = false;

    for (int x = 0; x < POINTS; x++)
        top[x] = INFINITY;
    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        for (int x = 0; x < POINTS && box->look == BOX_AREA; x++)
            if (x >= box->place.x && x < box->place.x + box->place.w && box->place.y < top[x])
                top[x] = box->place.y;
    }
    for (int x = 60; x < 200; x++) { /* while the pipeline is full */
        low = top[x] > low ? top[x] : low;
        high = top[x] < high ? top[x] : high;
    }
    for (int x = 0; x < POINTS; x++) {
        if (is_high && top[x] > high + 0.7 * (low - high)) {
            n_falls++;
            is_high = false;
        }
        is_high = is_high || top[x] < high + 0.3 * (low - high);
    }
    assert_in_range(n_falls, plan_schedule(f.session->plan)->n_micro_batches - 2,
                    plan_schedule(f.session->plan)->n_micro_batches);
    close_opened(&f);
}

/* Below the blocks, bars of what ops wait for: as wide as the collectives of all slots together;
 * between blocks, what lanes wait: all of the bubble. */
static void waits_of_a_schedule_are_as_wide_as_they_take(void **state)
{
    (void)state;
    Opened f = open_step();
    const Plan *plan = f.session->plan;
    const Schedule *table = plan_schedule(plan);
    const Diagram *diagram = draw(&f, DIAGRAM_SCHEDULE, 20 * PAPER_COLUMN);
    double scale = 0, waits = 0, gaps = 0, want = 0;

    for (int i = 0, b = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        if (box->look == BOX_AREA)
            gaps += box->place.w;
        if (box->look != BOX_FILL)
            continue;
        if (strstr(box->why, "micro-batch") && b++ == 0)
            scale = box->place.w / (table->block[0].end_us - table->block[0].start_us);
        if (strstr(box->why, "that ops wait"))
            waits += box->place.w;
    }
    for (int b = 0; b < table->n_blocks; b++) {
        SlotPieces pieces =
            slot_pieces(f.arena, plan, table->block[b].stage, (BlockPass)table->block[b].pass);
        for (int i = 0; i < pieces.n; i++)
            want += pieces.piece[i].op ? 0 : pieces.piece[i].us;
    }
    ScheduleIdle idle = pipeline_idle(f.arena, plan);
    double idle_us = 0;
    for (int lane = 0; lane < table->lanes->n; lane++)
        for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
            idle_us += idle.lane_us[lane][cause];
    assert_true(want > 0 && idle_us > 0);
    double once = waits / scale - want; /* reductions behind the schedule */
    assert_true(once >= 0 && once < 0.1 * want);
    assert_true(fabs(gaps / scale / idle_us - 1) < 0.02); /* the shortest are left out */
    close_opened(&f);
}

/* Each device once, and of n > 2 devices in a ring n - 1 links and one that goes back. */
static void a_torus_has_all_devices_and_links(void **state)
{
    (void)state;
    Opened f = open_options(&(SessionOptions){
        .model = "samples/models/tiny-gpt.onnx", .mesh = "a=3,b=4", .machine = "tpu_v5p"});
    const Diagram *diagram = draw(&f, DIAGRAM_TORUS, PAPER_COLUMN);
    int devices = 0, lines[2] = {0};

    for (int i = 0; i < diagram->n_boxes; i++)
        devices += diagram->boxes[i].look == BOX_FILL && diagram->boxes[i].flow.str.n > 0;
    for (int i = 0; i < diagram->n_lines; i++)
        lines[diagram->lines[i].axis]++;
    assert_int_equal(devices, 12);
    assert_int_equal(lines[0], 4 * (2 + 5)); /* the way back has four corners */
    assert_int_equal(lines[1], 3 * (3 + 5));
    assert_in_page(diagram, PAPER_COLUMN);
    close_opened(&f);
}

/* Points stand where their numbers are: faster is further left, less memory lower. */
static void a_frontier_stands_on_its_axes(void **state)
{
    (void)state;
    static const char json[] =
        "{\"frontier\":[{\"step_us\":1000.5,\"peak_bytes\":8000000,\"mesh\":\"dp=4\"},"
        "{\"step_us\":2000,\"peak_bytes\":4000000},{\"step_us\":3000,\"peak_bytes\":2000000}]}";
    char path[] = "/tmp/dimscope-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    Error err = {0};
    assert_true(file_write(path, str_from(json), &err));
    Opened f = open_options(&(SessionOptions){
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2", .train = "auto"});
    DiagramRequest request = {
        .session = f.session, .kind = DIAGRAM_FRONTIER, .of = path, .width = PAPER_COLUMN};
    const Diagram *diagram = diagram_make(f.arena, &request, &err);
    assert_non_null(diagram);
    DiagramPlace at[4];
    int n = 0;
    for (int i = 0; i < diagram->n_boxes; i++)
        if (diagram->boxes[i].look == BOX_FILL && n < 4)
            at[n++] = diagram->boxes[i].place;
    assert_int_equal(n, 4); /* and one in the key */
    assert_true(fabs((at[1].x - at[0].x) - (at[2].x - at[1].x) * 0.9995) < 1e-6);
    assert_true(fabs((at[1].y - at[0].y) - 2 * (at[2].y - at[1].y)) < 1e-6);
    assert_in_page(diagram, PAPER_COLUMN);

    assert_true(file_write(path, STR("{\"best\":1}"), &err));
    assert_null(diagram_make(f.arena, &request, &err));
    assert_non_null(strstr(err.hint, "--frontier --json"));
    unlink(path);
    close_opened(&f);
}

static void lengths_are_read_in_the_units_of_pages(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double points; /* 0: refused */
    } rows[] = {{"3.25in", 234}, {"8.255cm", 234}, {"82.55mm", 234}, {"234pt", 234}, {"234", 234},
                {"0.5in", 0},    {"wide", 0},      {"3.25ft", 0},    {"", 0},        {"-3in", 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double points = 0;
        Error err = {0};
        bool ok = paper_parse_length(str_from(rows[i].text), &points, &err);
        assert_int_equal(ok, rows[i].points > 0);
        if (ok)
            assert_true(fabs(points - rows[i].points) < 0.01);
        else
            assert_non_null(strstr(err.hint, "3.25in"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_the_schedule_are_as_wide_as_they_take),
        cmocka_unit_test(bars_of_memory_are_as_long_as_their_classes),
        cmocka_unit_test(the_curve_of_a_step_reaches_its_peak),
        cmocka_unit_test(the_curve_of_a_step_falls_with_each_micro_batch),
        cmocka_unit_test(waits_of_a_schedule_are_as_wide_as_they_take),
        cmocka_unit_test(a_torus_has_all_devices_and_links),
        cmocka_unit_test(a_frontier_stands_on_its_axes),
        cmocka_unit_test(lengths_are_read_in_the_units_of_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
