/* page.h - a report before it becomes HTML or Markdown: sections of texts, facts, tables, bars,
 * drawings.
 *
 *     page_section(page, "memory", "Memory");
 *     ReportTable *table = page_table(page, "live", "Alive at the peak", "what a device holds ..");
 *     table_column(table, "value", LOOK_NAME, NULL);
 *     table_row(table, 0); table_text(table, name); ..      row by row
 *
 * Texts are unescaped, and each writer escapes them for its format. A cell has its number beside
 * its text, so that readers can sort by it and tests can compare it.
 */
#ifndef VIZ_REPORT_PAGE_H
#define VIZ_REPORT_PAGE_H

#include "core/base/units.h"
#include "core/summary/comm.h"
#include "viz/export.h"

/* ---- tables ---- */

typedef enum {
    LOOK_TEXT,
    LOOK_NAME,     /* of an op or a tensor: monospace, shortened in the middle */
    LOOK_SHARDING, /* shardings and steps: one line, in code */
    LOOK_NUMBER,
    LOOK_SHARE /* a number from 0 to 1, with a bar beside it */
} ReportLook;

typedef struct {
    const char *head;
    const char *what; /* meaning of the column, half a sentence; NULL if the head is clear */
    ReportLook look;
    bool page_only; /* not in Markdown */
    bool more;      /* on a page only if there is room, or on demand */
} ReportColumn;

typedef struct {
    Text text;        /* the whole text; "" if empty */
    const char *link; /* "#reshard-3", or NULL */
    double number;    /* NAN if none */
} ReportCell;

typedef struct {
    int id, n_ids; /* in the table's ids: links to them lead to this row */
    int depth;
    bool head; /* head of the deeper rows below it */
} ReportRow;

enum { PAGE_COLUMNS_MAX = 24, PAGE_ROWS_MAX = 800 };

typedef struct {
    Arena *arena;
    const char *id, *title;
    const char *caption; /* or NULL */
    int n_columns;
    ReportColumn column[PAGE_COLUMNS_MAX];
    Vec(ReportRow) rows;
    Vec(const char *) ids;
    Vec(ReportCell) cells; /* row by row */
    int most, n_left_out;  /* limit of rows, and the number of rows beyond it */
    int md_rows;           /* rows in Markdown; 0 for all */
    bool page_only;
    bool high; /* it may have many rows: scrolls in a box of its own */
} ReportTable;

/* ---- blocks ---- */

typedef struct {
    const char *name, *text; /* "compute", "13.8 ms" */
    double number;
    int tint; /* index of a tint of the page, from 1 */
} ReportPart;

typedef struct {
    const char *name, *value;
    const char *caption; /* or NULL */
    const char *link;    /* or NULL */
} ReportFact;

typedef enum {
    BLOCK_SECTION,
    BLOCK_FACTS,    /* name, value */
    BLOCK_FIGURES,  /* like facts, in large type */
    BLOCK_SENTENCE, /* a sentence or more */
    BLOCK_ALARM,    /* a sentence that must be noticed */
    BLOCK_LINES,    /* lines as the engine writes them, folded under a title */
    BLOCK_TABLE,
    BLOCK_BAR,      /* parts of a whole, side by side */
    BLOCK_CURVE,    /* a number per op of the program */
    BLOCK_DRAWING,  /* SVG */
    BLOCK_FLOWCHART /* lines of Mermaid, in Markdown only */
} BlockKind;

typedef struct {
    BlockKind kind;
    const char *id;    /* its target for links, or NULL */
    const char *title; /* of a section, a drawing, lines */
    const char
        *text; /* of a sentence, lines, a fact; the SVG of a drawing; the top of a curve's scale */
    const char *caption; /* caption below a drawing or a curve */
    bool page_only;
    bool open; /* lines are not folded */
    ReportTable *table;
    Vec(ReportFact) facts;
    Vec(ReportPart) parts;
    Vec(double) numbers; /* points of a curve */
    int mark;            /* index of the point to mark in a curve */
} ReportBlock;

typedef struct {
    Arena *arena;
    const Session *session, *other; /* other: the second plan, or NULL */
    const ExportRequest *request;
    ExportNotes *notes;
    Comm *comm; /* its table is made */
    bool with_drawings;
    const char *title;
    Vec(ReportBlock *) blocks;
} Page;

/* ---- making ---- */

void page_section(Page *page, const char *id, const char *title);
ReportBlock *page_block(Page *page, BlockKind kind);
ReportTable *page_table(Page *page, const char *id, const char *title, const char *caption);
void page_sentence(Page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A drawing, or a table of its boxes and lines if dot cannot lay it out; nothing if the plan has
 * nothing of the kind, and in Markdown. */
void page_drawing(Page *page, DiagramKind kind, const char *title, const char *caption);
/* The same as a flowchart in Markdown; false if there is none, or it is too large for a review. */
bool page_flowchart(Page *page, DiagramKind kind);
void block_fact(Page *page, ReportBlock *block, const char *name, const char *value,
                const char *caption);
void block_part(Page *page, ReportBlock *block, const char *name, const char *text, double number,
                int tint);

void table_column(ReportTable *table, const char *head, ReportLook look, const char *what);
/* Not in Markdown, and on a page only if there is room. */
void table_page_column(ReportTable *table, const char *head, ReportLook look, const char *what);
/* Shows the last column on a page only if there is room. */
void table_more(ReportTable *table);
/* Returns false if the table is full; the row is then counted as left out. */
bool table_row(ReportTable *table, int depth);
/* Adds a target of links to the last row: "op-1". A row that stands for several has several. */
void row_id(ReportTable *table, const char *id);
void row_head(ReportTable *table);

void table_text(ReportTable *table, const char *text);
void table_str(ReportTable *table, Str text);
void table_link(ReportTable *table, const char *text, const char *link);
void table_bytes(ReportTable *table, int64_t bytes);
void table_us(ReportTable *table, double us);       /* empty for 0 */
void table_count(ReportTable *table, double count); /* "124,439,808" */
void table_flops(ReportTable *table, double flops); /* "0.137 TFLOP" */
void table_share(ReportTable *table, double part, double whole);
void table_none(ReportTable *table);
void table_marked(ReportTable *table, Text text); /* with axes in their colours */
void table_sharding(ReportTable *table, const Session *session, int32_t tensor, int32_t sharding);

/* The same as texts in the arena. */
const char *text_count(Arena *arena, double count);
const char *text_percent(Arena *arena, double part, double whole);

/* ---- the parts of a report, in order ---- */

void part_summary(Page *page);
void part_findings(Page *page);
void part_diff(Page *page); /* only with a second plan */
void part_mesh(Page *page);
void part_graph(Page *page);
void part_comm(Page *page);
void part_memory(Page *page);
void part_stages(Page *page);
void part_layers(Page *page);
void part_parameters(Page *page);
void part_decisions(Page *page);
void part_ops(Page *page);
void part_legend(Page *page);

/* The whole report. The caller must call comm_free(page->comm). Returns NULL with ERROR_CANCELLED
 * if cancelled. */
Page *page_make(Arena *arena, const ExportRequest *request, bool with_drawings, ExportNotes *notes,
                Error *err);

#endif
