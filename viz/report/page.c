#include "viz/report/page.h"

#include "core/base/units.h"
#include "core/rules/infer.h"

#include <math.h>
#include <stdarg.h>

/* ---- blocks ---- */

ReportBlock *page_block(Page *page, BlockKind kind)
{
    ReportBlock *block = arena_make(page->arena, ReportBlock);

    block->kind = kind;
    vec_push(page->arena, &page->blocks, block);
    return block;
}

void page_section(Page *page, const char *id, const char *title)
{
    ReportBlock *block = page_block(page, BLOCK_SECTION);

    block->id = id;
    block->title = title;
}

ReportTable *page_table(Page *page, const char *id, const char *title, const char *caption)
{
    ReportTable *table = arena_make(page->arena, ReportTable);

    table->arena = page->arena;
    table->id = id;
    table->title = title;
    table->caption = caption;
    table->most = PAGE_ROWS_MAX;
    page_block(page, BLOCK_TABLE)->table = table;
    return table;
}

void page_sentence(Page *page, const char *format, ...)
{
    Buf text = buf_new(page->arena);
    va_list args;

    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    page_block(page, BLOCK_SENTENCE)->text = text.s;
}

void block_fact(Page *page, ReportBlock *block, const char *name, const char *value,
                const char *caption)
{
    ReportFact fact = {.name = name, .value = value, .caption = caption};

    vec_push(page->arena, &block->facts, fact);
}

void block_part(Page *page, ReportBlock *block, const char *name, const char *text, double number,
                int tint)
{
    ReportPart part = {.name = name, .text = text, .number = number, .tint = tint};

    vec_push(page->arena, &block->parts, part);
}

/* ---- tables ---- */

void table_column(ReportTable *table, const char *head, ReportLook look, const char *what)
{
    assert(table->n_columns < PAGE_COLUMNS_MAX);
    table->column[table->n_columns++] =
        (ReportColumn){.head = head, .what = what, .look = look, .page_only = false};
}

void table_page_column(ReportTable *table, const char *head, ReportLook look, const char *what)
{
    table_column(table, head, look, what);
    table->column[table->n_columns - 1].page_only = true;
    table_more(table);
}

void table_more(ReportTable *table)
{
    table->column[table->n_columns - 1].more = true;
}

bool table_row(ReportTable *table, int depth)
{
    assert(table->cells.n == table->rows.n * table->n_columns);
    if (table->rows.n == table->most) {
        table->n_left_out++;
        return false;
    }
    vec_push(table->arena, &table->rows, ((ReportRow){.depth = depth, .id = table->ids.n}));
    return true;
}

void row_id(ReportTable *table, const char *id)
{
    vec_push(table->arena, &table->ids, id);
    table->rows.at[table->rows.n - 1].n_ids++;
}

void row_head(ReportTable *table)
{
    table->rows.at[table->rows.n - 1].head = true;
}

/* ---- cells ---- */

static void put(ReportTable *table, const char *text, double number)
{
    ReportCell cell = {.text = text_from(text ? text : ""), .number = number};

    vec_push(table->arena, &table->cells, cell);
}

void table_text(ReportTable *table, const char *text)
{
    put(table, text, (double)NAN);
}

void table_marked(ReportTable *table, Text text)
{
    table_none(table);
    table->cells.at[table->cells.n - 1].text = text;
}

void table_str(ReportTable *table, Str text)
{
    table_text(table, arena_str(table->arena, text));
}

void table_link(ReportTable *table, const char *text, const char *link)
{
    table_text(table, text);
    table->cells.at[table->cells.n - 1].link = link;
}

void table_none(ReportTable *table)
{
    table_text(table, "");
}

void table_bytes(ReportTable *table, int64_t bytes)
{
    put(table, text_bytes(table->arena, bytes), (double)bytes);
}

void table_us(ReportTable *table, double us)
{
    if (us > 0)
        put(table, text_us(table->arena, us), us);
    else
        put(table, "", 0);
}

void table_count(ReportTable *table, double count)
{
    put(table, text_count(table->arena, count), count);
}

void table_flops(ReportTable *table, double flops)
{
    Buf text = buf_new(table->arena);

    units_format_flops(flops, &text);
    put(table, text.s, flops);
}

void table_share(ReportTable *table, double part, double whole)
{
    put(table, whole > 0 ? text_percent(table->arena, part, whole) : "",
        whole > 0 ? part / whole : 0);
}

void table_sharding(ReportTable *table, const Session *session, int32_t tensor, int32_t sharding)
{
    Buf text = buf_marked(table->arena);

    if (sharding >= 0)
        sharding_format(shardings_at(session->plan->shardings, sharding), session->mesh, VIEW_OURS,
                        &text, NULL);
    else if (tensor >= 0)
        inferred_put_shape(session->inferred, tensor, &text);
    table_marked(table, buf_text(&text));
}

/* ---- texts ---- */

const char *text_count(Arena *arena, double count)
{
    Buf text = buf_new(arena);

    if (count == floor(count) && fabs(count) < 1e15)
        units_format_count((int64_t)count, &text);
    else
        buf_printf(&text, "%.10g", count);
    return text.s;
}

const char *text_percent(Arena *arena, double part, double whole)
{
    return arena_printf(arena, "%.1f%%", whole > 0 ? 100 * part / whole : 0);
}

/* ---- the whole page ---- */

Page *page_make(Arena *arena, const ExportRequest *request, bool with_drawings, ExportNotes *notes,
                Error *err)
{
    static void (*const parts[])(Page *) = {
        part_summary,   part_findings, part_diff,   part_mesh,   part_stages,
        part_graph,     part_comm,     part_memory, part_layers, part_parameters,
        part_decisions, part_ops,      part_legend};
    Page *page = arena_make(arena, Page);
    const Session *session = request->drawing.session;

    page->arena = arena;
    page->session = session;
    page->other = request->drawing.other;
    page->request = request;
    page->notes = notes;
    page->with_drawings = with_drawings;
    page->comm = comm_new(session);
    page->title = path_base(session->graph->file);
    bool ok = comm_table(page->comm, request->progress);
    for (size_t i = 0; ok && i < sizeof parts / sizeof *parts; i++) {
        parts[i](page);
        ok = !progress_stopped(request->progress);
    }
    if (ok)
        return page;
    comm_free(page->comm);
    error_kind(err, ERROR_CANCELLED, "stopped");
    return NULL;
}
