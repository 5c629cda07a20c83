#include "core/peers/tapestry/template.h"

#include <inttypes.h>

/* An op space being written. Frozen index dims are folded into the windows first, because every
 * index dim that a template names may be sharded. */
typedef struct {
    Arena *arena;
    const OpSpace *space;
    Buf *out, *lost;
    const char *name[X_MAX]; /* of each index dim, as an identifier; NULL: folded */
    bool bound[X_MAX];       /* its name is bound by the pattern of an input */
    Projection *projection;  /* per operand, with the frozen dims folded */
} Printer;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool name_is_taken(const Printer *printer, const char *name)
{
    for (int j = 0; j < printer->space->n_index; j++)
        if (printer->name[j] && strcmp(printer->name[j], name) == 0)
            return true;
    return false;
}

/* The index dim's name made a valid identifier, different from those of the index dims before it.
 */
static const char *identifier(const Printer *printer, const char *from)
{
    Buf name = buf_new(printer->arena);
    if (!is_letter(from[0]))
        buf_putc(&name, 'n');
    for (const char *c = from; *c; c++)
        buf_putc(&name, is_letter(*c) || is_digit(*c) ? *c : '_');
    while (name_is_taken(printer, name.s))
        buf_putc(&name, '_');
    return name.s;
}

static bool is_present(const Operand *operand)
{
    return !operand->absent && !operand->ignored;
}

/* "input", 2 */
static const char *operand_kind(const Printer *printer, int i, int *place)
{
    bool output = i >= printer->space->n_inputs;
    *place = output ? i - printer->space->n_inputs : i;
    return output ? "output" : "input";
}

/* ---- before writing ---- */

static void fold_frozen(Printer *printer)
{
    const OpSpace *space = printer->space;
    int n = space->n_inputs + space->n_outputs;
    printer->projection = arena_array(printer->arena, Projection, n);
    for (int i = 0; i < n; i++) {
        printer->projection[i] = space->operand[i].projection;
        for (int j = 0; j < space->n_index; j++)
            if (space->index[j].role == ROLE_FROZEN && space->index[j].size > 0)
                projection_absorb(&printer->projection[i], j, space->index[j].size);
    }
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role != ROLE_FROZEN || space->index[j].size == 0)
            printer->name[j] = identifier(printer, space->index[j].name);
}

/* The index dim that the tensor dim equals, with coefficient 1, offset 0 and no window, or -1. */
static int unit_index(const Printer *printer, int i, int d)
{
    const Row *row = &printer->projection[i].row[d];
    int found = -1;
    for (int j = 0; j < printer->space->n_index; j++) {
        if (row->coef[j] == 0)
            continue;
        if (found >= 0 || row->coef[j] != 1)
            return -1;
        found = j;
    }
    bool whole = found >= 0 && row->offset == 0 && row->window == 1 &&
                 printer->space->operand[i].shape.dim[d] == printer->space->index[found].size;
    return whole ? found : -1;
}

/* The index dim whose name the input's pattern has for dim d, or -1. A pattern has each name once.
 */
static int pattern_index(const Printer *printer, int i, int d)
{
    int index = unit_index(printer, i, d);
    for (int before = 0; before < d && index >= 0; before++)
        if (unit_index(printer, i, before) == index)
            return -1;
    return index;
}

static void note_bound(Printer *printer)
{
    for (int i = 0; i < printer->space->n_inputs; i++)
        for (int d = 0;
             is_present(&printer->space->operand[i]) && d < printer->projection[i].n_dims; d++) {
            int index = pattern_index(printer, i, d);
            if (index >= 0)
                printer->bound[index] = true;
        }
}

/* ---- what a template cannot express ---- */

static void list_operand_losses(Printer *printer, int i)
{
    const Operand *operand = &printer->space->operand[i];
    int place;
    const char *kind = operand_kind(printer, i, &place);
    if (operand->absent)
        buf_printf(printer->lost, "%s %d is absent and is left out\n", kind, place);
    if (operand->ignored)
        buf_printf(printer->lost, "%s %d is not analysed and is left out\n", kind, place);
    for (int d = 0; is_present(operand) && d < operand->projection.n_dims; d++)
        if (operand->projection.row[d].divisor > 1)
            buf_printf(printer->lost,
                       "%s %d dim %d steps by a part of an element: all of it is read\n", kind,
                       place, d);
    if (operand->linear != LINEAR_NO)
        buf_printf(printer->lost, "%s %d may stay partial, which a template cannot express\n", kind,
                   place);
    if (operand->once)
        buf_printf(printer->lost, "%s %d is added on one shard only when the sum is sharded\n",
                   kind, place);
}

static void list_index_losses(Printer *printer)
{
    const OpSpace *space = printer->space;
    ReduceOp first = REDUCE_NONE;
    for (int j = 0; j < space->n_index; j++) {
        const IndexDim *index = &space->index[j];
        if (index->role == ROLE_FROZEN)
            buf_printf(printer->lost, "index dim %s is frozen and becomes a window\n", index->name);
        if (index->role != ROLE_REDUCE)
            continue;
        if (first == REDUCE_NONE)
            first = index->reduce;
        if (index->reduce != first)
            buf_printf(printer->lost,
                       "index dim %s is reduced by another operation than the first one\n",
                       index->name);
        if (index->reduce == REDUCE_AVG)
            buf_printf(printer->lost,
                       "index dim %s is reduced by a mean, which a template cannot express\n",
                       index->name);
    }
}

/* A template writes each element of an output once, so an output must depend on all map dims. */
static void list_output_losses(Printer *printer)
{
    const OpSpace *space = printer->space;
    for (int j = 0; j < space->n_index; j++)
        for (int o = 0; o < space->n_outputs; o++) {
            const Operand *output = opspace_output(space, o);
            bool used = false;
            for (int d = 0; d < output->projection.n_dims; d++)
                used |= output->projection.row[d].coef[j] != 0;
            if (space->index[j].role == ROLE_MAP && is_present(output) && !used)
                buf_printf(printer->lost, "output %d is computed once for each index of %s\n", o,
                           space->index[j].name);
        }
}

/* ---- writing ---- */

static void write_row(Printer *printer, int i, int d)
{
    const Row *row = &printer->projection[i].row[d];
    const char *plus = "";
    bool any = false;
    for (int j = 0; j < printer->space->n_index; j++)
        any = any || row->coef[j] != 0;
    bool whole = !any && row->offset == 0;
    if (row->divisor > 1 ||
        (whole && row->window == printer->space->operand[i].shape.dim[d] && row->window != 1)) {
        buf_putc(printer->out, ':');
        return;
    }
    for (int j = 0; j < printer->space->n_index; j++) {
        int64_t coef = row->coef[j];
        if (coef == 0)
            continue;
        buf_puts(printer->out, coef < 0 ? (*plus ? " - " : "-") : plus);
        buf_printf(printer->out, "@%s", printer->name[j]);
        if (coef != 1 && coef != -1)
            buf_printf(printer->out, "*%" PRId64, coef < 0 ? -coef : coef);
        plus = " + ";
    }
    if (!any)
        buf_printf(printer->out, "%" PRId64, row->offset);
    else if (row->offset != 0)
        buf_printf(printer->out, " %c %" PRId64, row->offset < 0 ? '-' : '+',
                   row->offset < 0 ? -row->offset : row->offset);
    if (row->window != 1)
        buf_printf(printer->out, " :+ %" PRId64, row->window);
}

static void write_shape(Printer *printer, int i)
{
    const Operand *operand = &printer->space->operand[i];
    buf_puts(printer->out, "shape = \"[");
    for (int d = 0; d < operand->shape.n_dims; d++) {
        int index = unit_index(printer, i, d);
        if (i < printer->space->n_inputs)
            index = pattern_index(printer, i, d);
        buf_puts(printer->out, d > 0 ? ", " : "");
        if (index >= 0)
            buf_printf(printer->out, "$%s", printer->name[index]);
        else
            buf_printf(printer->out, "%" PRId64, operand->shape.dim[d]);
    }
    buf_puts(printer->out, "]\"");
}

static void write_operand(Printer *printer, int i)
{
    const Operand *operand = &printer->space->operand[i];
    int place;
    const char *kind = operand_kind(printer, i, &place);
    if (!is_present(operand))
        return;
    buf_printf(printer->out, "    { \"%s%d\", ", kind, place);
    write_shape(printer, i);
    buf_printf(printer->out, ",%s ipf = \"R[", operand->projection.clip ? " clip = true," : "");
    for (int d = 0; d < operand->projection.n_dims; d++) {
        buf_puts(printer->out, d > 0 ? ", " : "");
        write_row(printer, i, d);
    }
    buf_puts(printer->out, "]\" },\n");
}

static void write_operands(Printer *printer, const char *field, int first, int n)
{
    buf_printf(printer->out, "  %s = {\n", field);
    for (int i = first; i < first + n; i++)
        write_operand(printer, i);
    buf_puts(printer->out, "  },\n");
}

/* Writes the index dims of one kind: "[$m, $n=16]". */
static void write_index(Printer *printer, bool reduced)
{
    const char *comma = "";
    buf_puts(printer->out, "\"[");
    for (int j = 0; j < printer->space->n_index; j++) {
        const IndexDim *index = &printer->space->index[j];
        if (!printer->name[j] || (index->role == ROLE_REDUCE) != reduced)
            continue;
        buf_printf(printer->out, "%s$%s", comma, printer->name[j]);
        if (!printer->bound[j])
            buf_printf(printer->out, "=%" PRId64, index->size);
        comma = ", ";
    }
    buf_puts(printer->out, "]\"");
}

static const char *first_reduction(const OpSpace *space)
{
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_REDUCE)
            return reduce_name(space->index[j].reduce);
    return NULL;
}

bool template_print(const OpSpace *space, Buf *out, Buf *lost)
{
    Printer printer = {.arena = out->arena, .space = space, .out = out, .lost = lost};
    size_t before = lost->n;
    fold_frozen(&printer);
    note_bound(&printer);
    list_index_losses(&printer);
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++)
        list_operand_losses(&printer, i);
    list_output_losses(&printer);

    const char *reduction = first_reduction(space);
    buf_puts(out, "template \"op\" {\n");
    write_operands(&printer, "inputs", 0, space->n_inputs);
    buf_puts(out, "  index = ");
    write_index(&printer, false);
    if (reduction) {
        buf_printf(out, ",\n  reduce = { %s = ", reduction);
        write_index(&printer, true);
        buf_puts(out, " }");
    }
    buf_puts(out, ",\n");
    write_operands(&printer, "outputs", space->n_inputs, space->n_outputs);
    buf_puts(out, "}\n");
    return lost->n == before;
}
