/* part_summary.c - the subject of the plan, its totals, its findings, and a legend.
 */
#include "viz/report/page.h"

#include "core/base/units.h"
#include "core/base/version.h"
#include "core/cost/cost.h"
#include "core/plan/propagator.h"
#include "core/session/planfile.h"
#include "core/plan/stage.h"
#include "core/cost/pipeline.h"
#include "viz/style.h"
#include "core/plan/plan_machine.h"

#include <inttypes.h>

/* ---- the subject ---- */

static const char *dims_text(const Page *page)
{
    const DimBindings *dims = &page->session->options.dims;
    Buf text = buf_new(page->arena);

    for (int i = 0; i < dims->n; i++)
        if (!dim_is_overridden(dims, i))
            buf_printf(&text, "%s%.*s=%" PRId64, text.n ? " " : "", STR_ARG(dims->at[i].name),
                       dims->at[i].size);
    return text.s;
}

static const char *mesh_text(const Page *page)
{
    const Session *session = page->session;
    Buf text = buf_new(page->arena);

    mesh_format(session->mesh, &text);
    buf_printf(&text, ": %" PRId64 " device%s", session->mesh->n_devices,
               session->mesh->n_devices == 1 ? "" : "s");
    return text.s;
}

static const char *machine_text(const Page *page)
{
    const Machine *machine = page->session->machine;

    return arena_printf(page->arena, "%s: %" PRId64 " device%s a node, %s each", machine->name,
                        machine->devices_per_node, machine->devices_per_node == 1 ? "" : "s",
                        text_bytes(page->arena, machine->memory_bytes));
}

static void add_subject(Page *page)
{
    const Session *session = page->session;
    const SessionOptions *options = &session->options;
    ReportBlock *facts = page_block(page, BLOCK_FACTS);
    int n_ops = session->inferred->n_program;
    const char *dims = dims_text(page);

    block_fact(page, facts, "model",
               arena_printf(page->arena, "%s: %s op%s, %s parameters",
                            path_base(session->graph->file), text_count(page->arena, n_ops),
                            n_ops == 1 ? "" : "s",
                            text_count(page->arena, (double)inferred_params(session->inferred))),
               NULL);
    if (*dims)
        block_fact(page, facts, "sizes", dims, NULL);
    block_fact(page, facts, "mesh", mesh_text(page), NULL);
    block_fact(page, facts, "machine", machine_text(page), NULL);
    block_fact(page, facts, "policy", options->policy ? path_base(options->policy) : "none", NULL);
    if (options->train)
        block_fact(page, facts, "training", options->train, NULL);
    block_fact(page, facts, "propagator",
               arena_printf(page->arena, "%s, profile %s", session->plan->propagator->name,
                            session->plan->propagator->profile),
               NULL);
    block_fact(page, facts, "plan",
               arena_printf(page->arena, "%016" PRIx64, planfile_hash(session)),
               "the same for the same model, mesh, machine and decisions");
    block_fact(page, facts, "made by", "dimscope " DIMSCOPE_VERSION, NULL);
}

/* ---- totals ---- */

static void add_times(Page *page, ReportBlock *figures)
{
    const Totals *totals = &page->session->plan->priced->totals;
    const Stages *stages = page->session->plan->decided->stages;
    Arena *arena = page->arena;

    if (plan_schedule(page->session->plan))
        block_fact(page, figures, "step", text_us(arena, plan_step_us(page->session->plan)),
                   arena_printf(arena, "%s, %d micro-batch%s, bubble %s", stages->schedule,
                                stages->n_micro_batches, stages->n_micro_batches == 1 ? "" : "es",
                                text_percent(arena, plan_schedule(page->session->plan)->idle, 1)));
    block_fact(page, figures, stages ? "micro-batch" : "step", text_us(arena, totals->step_us),
               stages ? "through all stages" : NULL);
    block_fact(page, figures, "compute", text_us(arena, totals->compute_us),
               text_percent(arena, totals->compute_us, totals->step_us));
    block_fact(page, figures, "collectives", text_us(arena, totals->comm_us),
               text_percent(arena, totals->comm_us, totals->step_us));
    if (totals->comm_us > 0)
        block_fact(page, figures, "with best overlap", text_us(arena, totals->overlap_us),
                   arena_printf(arena, "%s stay exposed",
                                text_us(arena, totals->overlap_us - totals->compute_us)));
}

static void add_figures(Page *page)
{
    const Plan *plan = page->session->plan;
    const Totals *totals = &plan->priced->totals;
    Arena *arena = page->arena;
    ReportBlock *figures = page_block(page, BLOCK_FIGURES);
    Buf flops = buf_new(arena);
    double memory = (double)plan_memory(page->session->plan);

    add_times(page, figures);
    block_fact(page, figures, "peak memory", text_bytes(arena, totals->peak_bytes),
               arena_printf(arena, "%s of a device",
                            text_percent(arena, (double)totals->peak_bytes, memory)));
    block_fact(page, figures, "sent per device", text_bytes(arena, totals->comm_bytes),
               plan->decided->stages ? "of each stage" : "in a step");
    units_format_flops(totals->flops, &flops);
    block_fact(page, figures, "flops per device", flops.s,
               plan->decided->stages ? "of each stage" : NULL);
}

static void add_bars(Page *page)
{
    const Totals *totals = &page->session->plan->priced->totals;
    Arena *arena = page->arena;
    ReportBlock *bar = page_block(page, BLOCK_BAR);

    bar->title = page->session->plan->decided->stages ? "A micro-batch" : "A step";
    bar->page_only = true;
    block_part(page, bar, "compute", text_us(arena, totals->compute_us), totals->compute_us, 1);
    block_part(page, bar, "collectives", text_us(arena, totals->comm_us), totals->comm_us, 2);
}

/* Explains each total: the formulas of cost.h and memory.h in words, with this machine's
 * numbers. */
static void add_meanings(Page *page)
{
    const Plan *plan = page->session->plan;
    ReportBlock *lines = page_block(page, BLOCK_LINES);
    Buf text = buf_new(page->arena);

    lines->title = "What these numbers are";
    lines->page_only = true;
    buf_puts(&text, "step         = compute + collectives: nothing overlaps\n"
                    "compute      = sum over ops, on the rank with the largest shards, of\n"
                    "               ");
    cost_explain(plan->machine, &text);
    buf_puts(&text,
             "\n"
             "               (views take none)\n"
             "collectives  = sum over the steps of reshards; their prices are below the table\n"
             "overlap      = the best case: collectives run beside ops that do not need them\n"
             "peak memory  = most live bytes at any op, on the device that needs most\n"
             "sent         = bytes that one rank sends\n");
    if (plan->decided->stages) {
        buf_puts(&text, "schedule     = ");
        pipeline_explain(plan, &text);
        if (plan_schedule(plan) && plan_schedule(plan)->trains)
            buf_printf(&text, "\n               %s", pipeline_backward_note(plan));
        buf_putc(&text, '\n');
    }
    buf_puts(&text,
             "All numbers are computed from the model and the machine file; nothing was measured.");
    lines->text = text.s;
}

void part_summary(Page *page)
{
    page_section(page, "summary", "Summary");
    if (!plan_is_legal(page->session->plan))
        page_block(page, BLOCK_ALARM)->text =
            "This plan is illegal: see the errors among its findings.";
    if (page->session->plan->priced->totals.peak_bytes > plan_memory(page->session->plan))
        page_block(page, BLOCK_ALARM)->text =
            arena_printf(page->arena, "A device has %s, and this plan needs %s.",
                         text_bytes(page->arena, plan_memory(page->session->plan)),
                         text_bytes(page->arena, page->session->plan->priced->totals.peak_bytes));
    add_figures(page);
    add_bars(page);
    add_subject(page);
    add_meanings(page);
}

/* ---- findings ---- */

static const char *place_text(Page *page, const Finding *finding)
{
    if (!finding->file || !*finding->file)
        return "";
    if (finding->line <= 0)
        return path_base(finding->file);
    return arena_printf(page->arena, "%s:%d", path_base(finding->file), finding->line);
}

static void add_findings(Page *page, ReportTable *table, const Findings *findings, Level level)
{
    for (int i = 0; i < findings->n; i++) {
        const Finding *finding = &findings->at[i];
        if (finding->level != level || !table_row(table, 0))
            continue;
        table_text(table, level_name(finding->level));
        table_text(table, finding->text);
        table_text(table, finding->hint);
        table_text(table, place_text(page, finding));
        table_text(table, finding->code);
    }
}

void part_findings(Page *page)
{
    const Findings *found = &page->session->plan->findings;

    page_section(page, "findings", "Findings");
    if (found->n == 0) {
        page_sentence(page, "None: the plan is legal and has no notes.");
        return;
    }
    ReportTable *table = page_table(page, "findings-table", "Findings",
                                    "Problems that make the plan illegal (errors, listed first) or "
                                    "slower (warnings), and notes.");
    table->md_rows = 20;
    table_column(table, "level", LOOK_TEXT, NULL);
    table_column(table, "what", LOOK_TEXT, NULL);
    table_column(table, "what to do", LOOK_TEXT, NULL);
    table_column(table, "place", LOOK_NAME, NULL);
    table_page_column(table, "code", LOOK_NAME, NULL);
    for (int level = LEVEL_ERROR; level >= LEVEL_NOTE; level--)
        add_findings(page, table, found, (Level)level);
}

/* ---- legend ---- */

static void add_marks(Page *page)
{
    ReportTable *table = page_table(page, "collective-marks", "Collectives", NULL);

    table_column(table, "mark", LOOK_NAME, NULL);
    table_column(table, "meaning", LOOK_TEXT, NULL);
    for (StepKind kind = STEP_ALL_GATHER; kind < STEP_KIND_COUNT; kind++) {
        table_row(table, 0);
        table_text(table, step_kind_mark(kind));
        table_text(table, style_move(kind)->name);
    }
}

void part_legend(Page *page)
{
    static const char *const words[][2] = {
        {"768", "a dim of 768 elements, whole on every device"},
        {"768/tp", "768 elements, sharded by axis tp: each device has its shard"},
        {"(3)(768/tp)", "3 blocks of 768 elements, each sharded by tp"},
        {"8/dp.tp", "sharded by dp, then each shard by tp"},
        {"\xce\xa3tp",
         "partial: every device along tp has a partial sum; an all-reduce adds them up"},
        {"h[0..11] \xc3\x97"
         "12",
         "12 layers with equal structure and sharding"},
        {"h.*.ln", "the same value in each layer"},
        {"megatron.lua:22", "the line of the policy that made the decision"},
        {"dims_mapping", "Paddle: per dim the mesh axis that shards it, -1 for none"},
        {"placements", "DTensor: per mesh axis Shard(dim), Replicate() or Partial()"},
        {"PartitionSpec", "JAX: per dim the axes that shard it"},
    };
    ReportTable *table;

    page_section(page, "legend", "Marks");
    page->blocks.at[page->blocks.n - 1]->page_only = true;
    table = page_table(page, "notation", "How a sharding is written", NULL);
    table->page_only = true;
    table_column(table, "mark", LOOK_NAME, NULL);
    table_column(table, "meaning", LOOK_TEXT, NULL);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        table_row(table, 0);
        table_text(table, words[i][0]);
        table_text(table, words[i][1]);
    }
    add_marks(page);
    page->blocks.at[page->blocks.n - 1]->table->page_only = true;
}
