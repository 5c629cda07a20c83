/* page.h - a report before it is HTML or Markdown: sections of texts, facts, tables, bars,
 * drawings.
 *
 *     page_section(page, "memory", "Memory");
 *     ReportTable *table = page_table(page, "live", "Alive at the peak", "what a device holds ..");
 *     table_column(table, "value", LOOK_NAME, NULL);
 *     table_row(table, 0); table_text(table, name); ..      row by row
 *
 * All texts are as people name things; whoever writes them escapes them. Numbers stand beside the
 * text of their cell, so that a reader can sort by them and a test can compare them.
 */
#ifndef VIZ_REPORT_PAGE_H
#define VIZ_REPORT_PAGE_H

#include "core/summary/comm.h"
#include "viz/export.h"

/* ---- tables ---- */

typedef enum {
    LOOK_TEXT,
    LOOK_NAME, /* of an op, a tensor: in a font of one width, its middle goes where it is long */
    LOOK_SHARDING, /* shardings and steps: one line, in code */
    LOOK_NUMBER,
    LOOK_SHARE /* a number from 0 to 1: a bar beside it */
} ReportLook;

typedef struct {
    const char *head;
    const char *what; /* in half a sentence; NULL: the head says it */
    ReportLook look;
    bool page_only; /* not in Markdown */
} ReportColumn;

typedef struct {
    Text text;        /* whole; "": nothing to say */
    const char *link; /* "#reshard-3"; NULL */
    double number;    /* NAN: it has none */
} ReportCell;

typedef struct {
    const char *ids; /* "op-1 op-40": links to them lead here; NULL */
    int depth;
    bool head; /* of the rows below it that are deeper */
} ReportRow;

enum { PAGE_COLUMNS_MAX = 24, PAGE_ROWS_MAX = 800 };

typedef struct {
    Arena *arena;
    const char *id, *title;
    const char *says; /* NULL */
    int n_columns;
    ReportColumn column[PAGE_COLUMNS_MAX];
    Vec(ReportRow) rows;
    Vec(ReportCell) cells; /* row by row */
    int most, n_left_out;  /* rows; those that there was no room for */
    int md_rows;           /* so many in Markdown; 0: all */
    bool page_only;
    bool high; /* it may have many rows: in a box of its own */
} ReportTable;

/* ---- blocks ---- */

typedef struct {
    const char *name, *text; /* "compute", "13.8 ms" */
    double number;
    int tint; /* of the page's tints, from 1 */
} ReportPart;

typedef struct {
    const char *name, *value;
    const char *says; /* NULL */
    const char *link; /* NULL */
} ReportFact;

typedef enum {
    BLOCK_SECTION,
    BLOCK_FACTS,   /* name, value */
    BLOCK_FIGURES, /* the same, large */
    BLOCK_SAYS,    /* a sentence or more */
    BLOCK_ALARM,   /* a sentence that must be seen */
    BLOCK_LINES,   /* lines as the engine writes them, behind a title */
    BLOCK_TABLE,
    BLOCK_BAR,    /* parts of a whole, beside each other */
    BLOCK_CURVE,  /* numbers along the program */
    BLOCK_DRAWING /* SVG */
} BlockKind;

typedef struct {
    BlockKind kind;
    const char *id;    /* to link to; NULL */
    const char *title; /* of a section, a drawing, lines */
    const char *text;  /* of says, lines, a drawing's SVG, a fact; of a curve: what the top is */
    const char *says;  /* below a drawing or a curve */
    bool page_only;
    bool open; /* lines are shown at once */
    ReportTable *table;
    Vec(ReportFact) facts;
    Vec(ReportPart) parts;
    Vec(double) numbers; /* of a curve */
    int mark;            /* of a curve: the number to mark */
} ReportBlock;

typedef struct {
    Arena *arena;
    const Session *session, *other; /* other: B; NULL */
    const ExportRequest *request;
    ExportNotes *notes;
    Comm *comm; /* with its table */
    bool with_drawings;
    const char *title;
    Vec(ReportBlock *) blocks;
} Page;

/* ---- making ---- */

void page_section(Page *page, const char *id, const char *title);
ReportBlock *page_block(Page *page, BlockKind kind);
ReportTable *page_table(Page *page, const char *id, const char *title, const char *says);
void page_says(Page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A drawing, or its rows where dot cannot lay it out; nothing where the plan has none of the kind,
 * and in Markdown. */
void page_drawing(Page *page, DiagramKind kind, const char *title, const char *says);
void block_fact(Page *page, ReportBlock *block, const char *name, const char *value,
                const char *says);
void block_part(Page *page, ReportBlock *block, const char *name, const char *text, double number,
                int tint);

void table_column(ReportTable *table, const char *head, ReportLook look, const char *what);
void table_page_column(ReportTable *table, const char *head, ReportLook look, const char *what);
/* False: there is no room for more, and the row is counted as left out. */
bool table_row(ReportTable *table, int depth);
void row_id(ReportTable *table, const char *id); /* of the last row; "op-1 op-40" */
void row_head(ReportTable *table);

void table_text(ReportTable *table, const char *text);
void table_str(ReportTable *table, Str text);
void table_link(ReportTable *table, const char *text, const char *link);
void table_bytes(ReportTable *table, int64_t bytes);
void table_us(ReportTable *table, double us);       /* nothing for 0 */
void table_count(ReportTable *table, double count); /* "124,439,808" */
void table_share(ReportTable *table, double part, double whole);
void table_none(ReportTable *table);
void table_marked(ReportTable *table, Text text); /* axes in their colours */
void table_sharding(ReportTable *table, const Session *session, int32_t tensor, int32_t sharding);

/* Texts of the same, in the arena. */
const char *text_bytes(Arena *arena, int64_t bytes);
const char *text_us(Arena *arena, double us);
const char *text_count(Arena *arena, double count);
const char *text_percent(Arena *arena, double part, double whole);

/* ---- the parts of a report, in its order ---- */

void part_summary(Page *page);
void part_findings(Page *page);
void part_diff(Page *page); /* where there is another plan */
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

/* All of it. comm_free(page->comm) is the caller's. NULL with ERROR_CANCELLED. */
Page *page_make(Arena *arena, const ExportRequest *request, bool with_drawings, ExportNotes *notes,
                Error *err);

#endif
