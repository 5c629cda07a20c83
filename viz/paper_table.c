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
    int side;           /* columns side by side, behind that head */
    int *width;         /* per column of the new table */
    Vec(DiagramCell) cells;
    int n_columns; /* of the new table */
} Table;

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
static void measure(Table *table)
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
static int column_at(const Table *table, int at, int k)
{
    int column = at < table->heads ? at : at + k * table->side;
    return column < table->box->n_columns ? column : -1;
}

static int most_at(const Table *table, const int *of, int at)
{
    int most = 0;

    for (int k = 0, c; (c = column_at(table, at, k)) >= 0 && (k == 0 || at >= table->heads); k++)
        most = of[c] > most ? of[c] : most;
    return most;
}

/* Returns whether that many columns are narrow enough side by side. */
static bool fits(Table *table, int side)
{
    int sum = 0;

    table->side = side;
    for (int c = 0; c < table->heads + side; c++)
        sum += most_at(table, table->narrow, c) + BORDER;
    return sum <= table->columns;
}

/* The widths of columns: as wide as their texts as far as there is room. */
static void give_room(Table *table)
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
static int room_of(const Table *table, int from, int to)
{
    int room = 0;

    for (int c = from; c < to && c < table->n_columns; c++)
        room += table->width[c] + (c > from ? BORDER : 0);
    return room;
}

static void put(Table *table, const DiagramCell *cell, int room, int columns)
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

/* The k-th part of a row. */
static void put_row(Table *table, const DiagramCell *row, int k)
{
    for (int at = 0; at < table->n_columns; at++) {
        bool last = column_at(table, at + 1, k) < 0 && at + 1 >= table->heads;
        int end = last ? table->n_columns : at + 1;
        DiagramCell cell = row[column_at(table, at, k)];
        if (k > 0 && at < table->heads)
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

/* The rows from cell `at` on that have a cell a column, once for each part. Returns the cell after
 * them. */
static int put_rows(Table *table, int at)
{
    const DiagramBox *box = table->box;
    int end = at;

    while (end < box->n_cells && span_of(&box->cells[end]) == 1)
        end += box->n_columns;
    for (int k = 0; column_at(table, table->heads, k) >= 0; k++)
        for (int row = at; row < end; row += box->n_columns)
            put_row(table, &box->cells[row], k);
    return end;
}

static void fold_in_place(Table *table)
{
    const DiagramBox *box = table->box;

    for (int i = 0, column = 0; i < box->n_cells; i++) {
        int span = span_of(&box->cells[i]);
        put(table, &box->cells[i], room_of(table, column, column + span), box->cells[i].columns);
        column = (column + span) % box->n_columns;
    }
}

/* Chooses how many columns are side by side, about equally many in each part. */
static void choose_side(Table *table)
{
    int n = table->box->n_columns - table->heads, side = n;

    while (side > 1 && !fits(table, side))
        side--;
    int parts = (n + side - 1) / side;
    table->side = (n + parts - 1) / parts;
    if (!fits(table, table->side))
        table->side = side;
    table->n_columns = table->heads + table->side;
}

void paper_fold_cells(Arena *arena, DiagramBox *box, int columns)
{
    Table table = {.arena = arena, .box = box, .columns = columns};

    table.wide = arena_array(arena, int, box->n_columns + 1);
    table.narrow = arena_array(arena, int, box->n_columns + 1);
    table.width = arena_array(arena, int, box->n_columns + 1);
    measure(&table);
    if (!is_regular(box))
        table.heads = 0;
    table.side = box->n_columns - table.heads;
    table.n_columns = box->n_columns;
    if (is_regular(box))
        choose_side(&table);
    give_room(&table);
    if (table.n_columns == box->n_columns) {
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
