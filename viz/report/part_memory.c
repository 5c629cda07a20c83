/* part_memory.c - the memory of a device: by class, along the program, at the peak; and the devices
 * grouped by their needs. */
#include "viz/report/page.h"

#include "core/cost/pipeline.h"
#include "core/summary/sheets.h"
#include "core/summary/label.h"
#include "core/plan/plan_machine.h"

#include <stdlib.h>

static const char *class_word(MemoryClass class)
{
    /* ORDER MEMORY_CLASS */
    static const char *const words[] = {
        "parameters",  "gradients", "optimizer state",       "inputs",
        "activations", "constants", "buffers of collectives"};
    return words[class];
}

static const char *op_at(Page *page, int place)
{
    const Session *session = page->session;

    return place < 0 ? ""
                     : arena_str(page->arena,
                                 label_op(session, page->arena, session->inferred->program[place]));
}

/* ---- by class ---- */

static void add_classes(Page *page, const LiveSet *set)
{
    ReportBlock *bar = page_block(page, BLOCK_BAR);

    bar->title = arena_printf(
        page->arena, "%s of %s of a device at the peak%s", text_bytes(page->arena, set->bytes),
        text_bytes(page->arena, plan_memory(page->session->plan)),
        plan_counts_forward_only(page->session->plan) ? ", forward only" : "");
    for (int class = 0; class < MEMORY_CLASS_COUNT; class ++)
        if (set->by_class[class] > 0)
            block_part(page, bar, class_word((MemoryClass) class),
                       text_bytes(page->arena, set->by_class[class]), (double)set->by_class[class],
                       1 + class);
}

/* ---- along the program ---- */

enum { CURVE_POINTS = 240 };

static void add_curve(Page *page, const MemoryUse *use)
{
    int n = page->session->inferred->n_program;
    int per_point = n / CURVE_POINTS + 1;

    if (n < 2)
        return;
    ReportBlock *curve = page_block(page, BLOCK_CURVE);
    curve->page_only = true;
    curve->title = "Live bytes during a step";
    curve->text = text_bytes(page->arena, use->peak_bytes);
    curve->caption =
        arena_printf(page->arena, "%d ops from left to right; the peak is reached while %s runs", n,
                     op_at(page, use->peak_place));
    for (int i = 0; i < n; i++) {
        double bytes = (double)use->live_bytes[i];
        int point = i / per_point;
        if (point == curve->numbers.n)
            vec_push(page->arena, &curve->numbers, bytes);
        if (bytes > curve->numbers.at[point])
            curve->numbers.at[point] = bytes;
    }
    curve->mark = use->peak_place / per_point;
}

/* ---- at the peak ---- */

static void put_until(Page *page, ReportTable *table, const LiveValue *value, int n)
{
    if (value->to >= page->session->inferred->n_program)
        table_text(table, "the end");
    else if (n > 1)
        table_none(table);
    else
        table_link(
            table, op_at(page, value->to),
            arena_printf(page->arena, "#op-%d", page->session->inferred->program[value->to]));
}

static int largest_first(const void *a, const void *b)
{
    const LiveRow *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x->first - y->first;
}

static void add_live(Page *page, const LiveSet *set, int place)
{
    LiveRow *rows = arena_array(page->arena, LiveRow, set->n + 1);
    int n = live_rows(page->arena, page->session, set, rows);
    qsort(rows, (size_t)n, sizeof *rows, largest_first);
    ReportTable *table = page_table(
        page, "live", "Alive at the peak",
        arena_printf(page->arena, "%d value%s while %s runs%s", set->n, set->n == 1 ? "" : "s",
                     place < 0 ? "nothing" : op_at(page, place),
                     set->padding_bytes > 0
                         ? arena_printf(page->arena, "; %s of it is padding on the last rank",
                                        text_bytes(page->arena, set->padding_bytes))
                         : ""));

    table->md_rows = 10;
    table->high = true;
    table_column(table, "value", LOOK_NAME, NULL);
    table_column(table, "\xc3\x97", LOOK_NUMBER, "number of equal ones");
    table_column(table, "class", LOOK_TEXT, "what it is used for");
    table_column(table, "sharding", LOOK_SHARDING, NULL);
    table_column(table, "total", LOOK_NUMBER, "bytes of all of them on the device");
    table_column(table, "share", LOOK_SHARE, "of the peak");
    table_page_column(table, "until", LOOK_NAME, "the last op that reads it");
    for (int i = 0; i < n && table_row(table, 0); i++) {
        const LiveValue *value = &set->at[rows[i].first];
        table_text(table, rows[i].label);
        table_count(table, rows[i].n);
        table_text(table, memory_class_name(value->class));
        table_sharding(table, page->session, value->tensor, value->sharding);
        table_bytes(table, rows[i].bytes);
        table_share(table, (double)rows[i].bytes, (double)set->bytes);
        put_until(page, table, value, rows[i].n);
    }
}

/* ---- per device ---- */

static void add_devices(Page *page, const RankMemories *ranks)
{
    ReportTable *table = page_table(page, "devices", "Devices",
                                    "Devices that need the same memory at every op are one row.");
    bool used[MEMORY_CLASS_COUNT] = {false};

    for (int i = 0; i < ranks->n; i++)
        for (int class = 0; class < MEMORY_CLASS_COUNT; class ++)
            used[class] |= ranks->at[i].by_class[class] > 0;
    table->md_rows = 8;
    table_column(table, "first device", LOOK_NUMBER, NULL);
    table_column(table, "devices", LOOK_NUMBER, "number of devices with equal needs");
    table_column(table, "peak", LOOK_NUMBER, NULL);
    table_column(table, "share", LOOK_SHARE, "of the device's memory");
    for (int class = 0; class < MEMORY_CLASS_COUNT; class ++)
        if (used[class])
            table_page_column(table, class_word((MemoryClass) class), LOOK_NUMBER, "at its peak");
    table_page_column(table, "at", LOOK_NAME, "the op with the most live bytes");
    table_page_column(table, "init sharded", LOOK_NUMBER,
                      "peak bytes of initialisation if each parameter is created as shards");
    table_page_column(table, "init one by one", LOOK_NUMBER,
                      "if each parameter is created whole, then sliced");
    table_page_column(table, "init whole", LOOK_NUMBER,
                      "if all parameters are created whole before any is sliced");
    for (int i = 0; i < ranks->n && table_row(table, 0); i++) {
        const RankMemory *rank = &ranks->at[i];
        table_count(table, (double)mesh_device(page->session->mesh, rank->rank));
        table_count(table, (double)rank->n_ranks);
        table_bytes(table, rank->use.peak_bytes);
        table_share(table, (double)rank->use.peak_bytes,
                    (double)plan_rank_memory(page->session->plan, rank->rank));
        for (int class = 0; class < MEMORY_CLASS_COUNT; class ++)
            if (used[class])
                table_bytes(table, rank->by_class[class]);
        table_text(table, op_at(page, rank->use.peak_place));
        table_bytes(table, rank->init.parts_bytes);
        table_bytes(table, rank->init.cut_bytes);
        table_bytes(table, rank->init.whole_bytes);
    }
}

void part_memory(Page *page)
{
    MemoryAccount *account = memory_account_make(page->session->plan, page->request->progress);

    page_section(page, "memory", "Memory");
    if (!account)
        return;
    RankMemories ranks = memory_ranks(page->arena, account, page->request->progress);
    if (!progress_stopped(page->request->progress)) {
        const RankMemory *most = &ranks.at[0];
        LiveSet set = memory_live_of(page->arena, account, most->rank, most->use.peak_place);
        add_classes(page, &set);
        add_curve(page, &most->use);
        add_live(page, &set, most->use.peak_place);
        add_devices(page, &ranks);
    }
    memory_account_free(account);
}
