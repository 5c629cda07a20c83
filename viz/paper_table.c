#include "viz/paper_table.h"

#include "core/base/text.h"
#include "core/base/vec.h"
#include "viz/fold.h"

enum { BORDER = 2, NAME_LEAST = 16 }; /* BORDER: characters that borders and margins take */

typedef struct {
    Arena *arena;
    const DiagramBox *box;
    int columns;        /* of the page, in characters */
    int *wide, *narrow; /* per column: its widest text and word, at most NAME_LEAST */
    int heads;          /* 1 if its first column says what a row is */
    bool above;         /* that head is too wide: it stands above the rest of its row */
    int kept;           /* heads that are columns of the new table too */
    int side;           /* columns side by side, behind that head */
    int *width;         /* per column of the new table */
    Vec(DiagramCell) cells;
    int n_columns; /* of the new table */
} PaperTable;

static int span_of(const DiagramCell *cell)
{
    return cell->columns > 1 ? cell->columns : 1;
}

static int longest_word(Str text)
{
    int most = 0, n = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        n = c == '\n' || c == ' ' ? 0 : n + ((text.s[i] & 0xC0) != 0x80);
        most = n > most ? n : most;
        n = c == ',' || c == '+' ? 0 : n;
    }
    return most;
}

/* Sets the widths of the columns, and whether the first one is a head. */
static void measure(PaperTable *table)
{
    const DiagramBox *box = table->box;
    int rows = 0, shaded = 0;

    for (int i = 0, column = 0; i < box->n_cells; i++) {
        const DiagramCell *cell = &box->cells[i];
        int span = span_of(cell);
        if (span == 1 && column < box->n_columns) {
            int all = fold_columns(cell->text.str), word = longest_word(cell->text.str);
            int *wide = &table->wide[column], *narrow = &table->narrow[column];
            word = cell->text.n_spans == 0 && word > NAME_LEAST ? NAME_LEAST : word;
            *wide = all > *wide ? all : *wide;
            *narrow = word > *narrow ? word : *narrow;
        }
        rows += column == 0 && span == 1;
        shaded += column == 0 && span == 1 && cell->shade > 0;
        column = (column + span) % box->n_columns;
    }
    table->heads = rows > 1 && shaded == 0;
}

/* The old column that is `at` in the new table, below the k-th of its kind; -1 behind the last. */
static int column_at(const PaperTable *table, int at, int k)
{
    int column = at < table->kept ? at : at - table->kept + table->heads + k * table->side;
    return column < table->box->n_columns ? column : -1;
}

static int most_at(const PaperTable *table, const int *of, int at)
{
    int most = 0;

    for (int k = 0, c; (c = column_at(table, at, k)) >= 0 && (k == 0 || at >= table->kept); k++)
        most = of[c] > most ? of[c] : most;
    return most;
}

/* Returns whether that many columns are narrow enough side by side. */
static bool fits(PaperTable *table, int side)
{
    int sum = 0;

    table->side = side;
    for (int c = 0; c < table->kept + side; c++)
        sum += most_at(table, table->narrow, c) + BORDER;
    return sum <= table->columns;
}

/* The widths of columns: as wide as their texts as far as there is room. */
static void give_room(PaperTable *table)
{
    int room = table->columns - BORDER * table->n_columns;

    for (int c = 0; c < table->n_columns; c++)
        table->width[c] = most_at(table, table->wide, c);
    for (;;) {
        int sum = 0, most = -1;
        for (int c = 0; c < table->n_columns; c++) {
            sum += table->width[c];
            if (table->width[c] > most_at(table, table->narrow, c) &&
                (most < 0 || table->width[c] > table->width[most]))
                most = c;
        }
        if (sum <= room || most < 0)
            return;
        table->width[most]--;
    }
}

/* The room of columns [from, to) of the new table together. */
static int room_of(const PaperTable *table, int from, int to)
{
    int room = 0;

    for (int c = from; c < to && c < table->n_columns; c++)
        room += table->width[c] + (c > from ? BORDER : 0);
    return room;
}

static void put(PaperTable *table, const DiagramCell *cell, int room, int columns)
{
    DiagramCell made = *cell;

    made.columns = columns;
    made.text = fold_text(table->arena, made.text, room);
    if (made.text.n_spans == 0 && longest_word(made.text.str) > room && room > 0) {
        Buf out = buf_new(table->arena);
        for (Str rest = made.text.str; rest.n > 0;) {
            Str line = str_take(&rest, '\n');
            text_put_name(line, room, &out);
            buf_puts(&out, rest.n > 0 ? "\n" : "");
        }
        made.text = text_from(out.n > 0 ? out.s : "");
    }
    vec_push(table->arena, &table->cells, made);
}

/* The head above its row; in place of an empty first cell instead. Returns whether it is that. */
static bool put_head(PaperTable *table, const DiagramCell *row)
{
    bool alone = row[1].text.str.n > 0;

    if (alone)
        put(table, row, room_of(table, 0, table->n_columns), table->n_columns);
    return !alone;
}

/* The k-th part of a row. */
static void put_row(PaperTable *table, const DiagramCell *row, int k)
{
    bool within = table->above && k == 0 && put_head(table, row);

    for (int at = 0; at < table->n_columns; at++) {
        bool last = column_at(table, at + 1, k) < 0 && at + 1 >= table->kept;
        int end = last ? table->n_columns : at + 1;
        DiagramCell cell = row[within && at == 0 ? 0 : column_at(table, at, k)];
        if (k > 0 && at < table->kept)
            cell.port = NULL;
        put(table, &cell, room_of(table, at, end), end - at);
        if (last)
            return;
    }
}

/* Whether row by row each cell is either one of n or spans all of them. */
static bool is_regular(const DiagramBox *box)
{
    for (int i = 0; i < box->n_cells;) {
        if (span_of(&box->cells[i]) == box->n_columns) {
            i++;
            continue;
        }
        for (int c = 0; c < box->n_columns; c++)
            if (i + c >= box->n_cells || span_of(&box->cells[i + c]) > 1)
                return false;
        i += box->n_columns;
    }
    return box->n_columns > 1;
}

/* The rows from cell `at` on that have a cell a column, once for each part; part by part, or row by
 * row where heads stand above. Returns the cell after them. */
static int put_rows(PaperTable *table, int at)
{
    const DiagramBox *box = table->box;
    int end = at, n_parts = 0;

    while (end < box->n_cells && span_of(&box->cells[end]) == 1)
        end += box->n_columns;
    while (column_at(table, table->kept, n_parts) >= 0)
        n_parts++;
    int n_rows = (end - at) / box->n_columns;
    for (int i = 0; i < n_rows * n_parts; i++) {
        int row = table->above ? i / n_parts : i % n_rows;
        put_row(table, &box->cells[at + row * box->n_columns],
                table->above ? i % n_parts : i / n_rows);
    }
    return end;
}

/* Whether the cells from there on are a row of one for each column. */
static bool is_row(const DiagramBox *box, int at)
{
    for (int c = 0; c < box->n_columns; c++)
        if (at + c >= box->n_cells || span_of(&box->cells[at + c]) > 1)
            return false;
    return true;
}

/* Rows that are not regular, with heads above those that are: each other first cell covers the
 * head's column and a further one. */
static void fold_below_heads(PaperTable *table)
{
    const DiagramBox *box = table->box;

    for (int i = 0; i < box->n_cells;) {
        if (is_row(box, i)) {
            put_row(table, &box->cells[i], 0);
            i += box->n_columns;
            continue;
        }
        for (int column = 0; column < box->n_columns && i < box->n_cells; i++) {
            int span = span_of(&box->cells[i]), from = column > 0 ? column - 1 : 0;
            column += span;
            put(table, &box->cells[i], room_of(table, from, column - 1), column - 1 - from);
        }
    }
}

static void fold_in_place(PaperTable *table)
{
    const DiagramBox *box = table->box;

    for (int i = 0, column = 0; i < box->n_cells; i++) {
        int span = span_of(&box->cells[i]);
        put(table, &box->cells[i], room_of(table, column, column + span), box->cells[i].columns);
        column = (column + span) % box->n_columns;
    }
}

/* Whether the texts of a row are much wider than the page, and a large part of that is its head,
 * which can stand above. */
static bool has_wide_heads(const PaperTable *table)
{
    const DiagramBox *box = table->box;
    int sum = 0;

    for (int c = 0; c < box->n_columns; c++)
        sum += table->wide[c] + BORDER;
    for (int i = 0, column = 0; i < box->n_cells; i++) { /* every other first cell covers more */
        if (column == 0 && span_of(&box->cells[i]) == 1 && !is_row(box, i))
            return false;
        column = (column + span_of(&box->cells[i])) % box->n_columns;
    }
    return table->heads > 0 && box->n_columns > 2 && 3 * table->wide[0] > table->columns &&
           2 * sum > 3 * table->columns;
}

/* Chooses how many columns are side by side, about equally many in each part. */
static void choose_side(PaperTable *table)
{
    int n = table->box->n_columns - table->heads, side = n;

    while (side > 1 && !fits(table, side))
        side--;
    int parts = (n + side - 1) / side;
    table->side = (n + parts - 1) / parts;
    if (!fits(table, table->side))
        table->side = side;
    table->n_columns = table->kept + table->side;
}

void paper_fold_cells(Arena *arena, DiagramBox *box, int columns)
{
    PaperTable table = {.arena = arena, .box = box, .columns = columns};
    bool regular = is_regular(box);

    table.wide = arena_array(arena, int, box->n_columns + 1);
    table.narrow = arena_array(arena, int, box->n_columns + 1);
    table.width = arena_array(arena, int, box->n_columns + 1);
    measure(&table);
    table.above = has_wide_heads(&table);
    if (!regular && !table.above)
        table.heads = 0;
    table.kept = table.above ? 0 : table.heads;
    table.side = box->n_columns - table.heads;
    table.n_columns = table.kept + table.side;
    if (regular)
        choose_side(&table);
    give_room(&table);
    if (!regular && table.above) {
        fold_below_heads(&table);
    } else if (table.n_columns == box->n_columns) {
        fold_in_place(&table);
    } else {
        for (int i = 0; i < box->n_cells;) {
            if (span_of(&box->cells[i]) > 1)
                put(&table, &box->cells[i++], room_of(&table, 0, table.n_columns), table.n_columns);
            else
                i = put_rows(&table, i);
        }
    }
    box->cells = table.cells.at;
    box->n_cells = table.cells.n;
    box->n_columns = table.n_columns;
}
