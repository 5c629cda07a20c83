#include "core/rules/notation.h"

#include "core/base/peer.h"

#include <inttypes.h>

/* ---- what an op space has that a notation may have no word for ---- */

enum { TRAITS_ASIDE = TRAIT_LINEAR | TRAIT_ONCE | TRAIT_BLOCKED };

typedef struct {
    const OpSpace *space;
    unsigned carried; /* the Traits that the notation can express */
    unsigned found;   /* the other Traits, if the op has them */
    Buf *lost;
} Losses;

static bool is_seen(const Operand *operand)
{
    return !operand->absent && !operand->ignored;
}

static int n_operands(const OpSpace *space)
{
    return space->n_inputs + space->n_outputs;
}

/* Whether the trait is lost; if so, starts a line that lists it. */
static bool lose(Losses *losses, Trait trait)
{
    if (losses->carried & trait)
        return false;
    losses->found |= trait;
    if (losses->lost->n > 0)
        buf_putc(losses->lost, '\n');
    return true;
}

static void put_operand(const OpSpace *space, int i, Buf *out)
{
    bool output = i >= space->n_inputs;
    buf_printf(out, "%s %d", output ? "output" : "input", output ? i - space->n_inputs : i);
}

static void put_radix(const OpSpace *space, const DimFactors *factors, Buf *out)
{
    for (int i = 0; i < factors->n; i++)
        buf_printf(out, "%s%s", i > 0 ? " " : "(", space->index[factors->index[i]].name);
    buf_putc(out, ')');
}

void notation_row(const OpSpace *space, const Operand *operand, int dim, Buf *out)
{
    Row row;
    int main = row_main_index(space, &operand->projection.row[dim], &row);
    if (operand->factors[dim].exact)
        return;
    if (main < 0) {
        buf_printf(out, "%" PRId64 " of %" PRId64, row.window, operand->shape.dim[dim]);
    } else {
        int64_t step = row.coef[main], halo = row_overlap(&row, main);
        int64_t waste = row_waste(&row, main);
        if (row.window != 1)
            buf_printf(out, "windows of %" PRId64 " ", row.window);
        buf_printf(out, "along %s", space->index[main].name);
        if (step < 0)
            buf_puts(out, " backwards");
        if (row.divisor > 1)
            buf_printf(out, ", stride %" PRId64 "/%" PRId64, step < 0 ? -step : step, row.divisor);
        else if (step != 1 && step != -1)
            buf_printf(out, ", stride %" PRId64, step < 0 ? -step : step);
        if (halo > 0)
            buf_printf(out, ", halo %" PRId64, halo);
        if (waste > 0)
            buf_printf(out, ", %" PRId64 " unread between", waste);
    }
    if (row.offset != 0)
        buf_printf(out, ", offset %" PRId64, row.offset);
    if (operand->projection.clip)
        buf_printf(out, ", %s", row_ends_name((RowEnds)row.ends));
}

static void lose_dims(Losses *losses, int i)
{
    const OpSpace *space = losses->space;
    const Operand *operand = &space->operand[i];
    for (int d = 0; is_seen(operand) && d < operand->projection.n_dims; d++) {
        const DimFactors *factors = &operand->factors[d];
        Buf row = buf_new(losses->lost->arena);
        notation_row(space, operand, d, &row);
        if (row.n > 0 && lose(losses, TRAIT_ROW)) {
            put_operand(space, i, losses->lost);
            buf_printf(losses->lost, " dim %d: %s", d, row.s);
        }
        if (factors->exact && factors->n > 1 && lose(losses, TRAIT_RADIX)) {
            put_operand(space, i, losses->lost);
            buf_printf(losses->lost, " dim %d is ", d);
            put_radix(space, factors, losses->lost);
        }
    }
}

/* Lists index dims that can be sharded although they are not the first of a bracket, each once. */
static void lose_minor(Losses *losses)
{
    const OpSpace *space = losses->space;
    uint32_t listed = 0;
    for (int i = 0; i < n_operands(space); i++)
        for (int d = 0; d < space->operand[i].projection.n_dims; d++) {
            const DimFactors *factors = &space->operand[i].factors[d];
            for (int k = 1; k < factors->n && factors->exact; k++) {
                const IndexDim *index = &space->index[factors->index[k]];
                uint32_t bit = UINT32_C(1) << factors->index[k];
                if (listed & bit || index->role == ROLE_FROZEN || !lose(losses, TRAIT_MINOR))
                    continue;
                listed |= bit;
                buf_printf(losses->lost, "a cut of %s, minor in ", index->name);
                put_radix(space, factors, losses->lost);
            }
        }
}

static void lose_index(Losses *losses)
{
    const OpSpace *space = losses->space;
    for (int j = 0; j < space->n_index; j++) {
        const IndexDim *index = &space->index[j];
        if (index->role == ROLE_FROZEN && lose(losses, TRAIT_FROZEN))
            buf_printf(losses->lost, "%s is never cut", index->name);
        if (index->role == ROLE_REDUCE && lose(losses, TRAIT_SUM))
            buf_printf(losses->lost, "%s is reduced by %s", index->name,
                       reduce_name(index->reduce));
        else if (index->role == ROLE_REDUCE && index->reduce != REDUCE_SUM &&
                 lose(losses, TRAIT_REDUCE))
            buf_printf(losses->lost, "%s is reduced by %s, not summed", index->name,
                       reduce_name(index->reduce));
        if (index->blocked && lose(losses, TRAIT_BLOCKED))
            buf_printf(losses->lost, "%s can be sharded in the op, but that does not propagate",
                       index->name);
    }
}

static bool is_cut(const OpSpace *space, const Operand *operand)
{
    bool cut = false;
    for (int d = 0; is_seen(operand) && d < operand->projection.n_dims; d++)
        for (int j = 0; j < space->n_index; j++)
            cut |= operand->projection.row[d].coef[j] != 0;
    return cut;
}

static void lose_linear(Losses *losses)
{
    const OpSpace *space = losses->space;
    int n = 0;
    bool together = false;
    for (int i = 0; i < space->n_inputs; i++) {
        together |= space->operand[i].linear == LINEAR_TOGETHER;
        n += space->operand[i].linear != LINEAR_NO;
    }
    if (n == 0 || !lose(losses, TRAIT_LINEAR))
        return;
    buf_puts(losses->lost, "linear in");
    for (int i = 0; i < space->n_inputs; i++)
        if (space->operand[i].linear != LINEAR_NO)
            buf_printf(losses->lost, " %d", i);
    buf_printf(losses->lost, ": partial inputs%s stay partial", together ? " alike" : "");
}

static void lose_inputs(Losses *losses)
{
    const OpSpace *space = losses->space;
    for (int i = 0; i < space->n_inputs; i++) {
        const Operand *operand = &space->operand[i];
        if (i > 0 && is_cut(space, operand) && lose(losses, TRAIT_INPUTS))
            buf_printf(losses->lost, "input %d is cut too", i);
        if (operand->once && lose(losses, TRAIT_ONCE))
            buf_printf(losses->lost, "input %d is added once", i);
    }
    lose_linear(losses);
}

bool notation_losses(const OpSpace *space, unsigned carried, Buf *lost)
{
    Losses losses = {space, carried, 0, lost};
    for (int i = 0; i < n_operands(space); i++)
        lose_dims(&losses, i);
    lose_minor(&losses);
    lose_index(&losses);
    lose_inputs(&losses);
    return (losses.found & ~(unsigned)TRAITS_ASIDE) == 0;
}

/* ---- dimop and einsum: a dim is its index dims, or a number ---- */

static bool is_unit(const DimFactors *factors)
{
    return factors->exact && factors->n <= 1;
}

static bool is_radix(const DimFactors *factors)
{
    return factors->exact;
}

/* The index dims that can be named: all dims that they are part of have a form that the notation
 * can express, and so have the other index dims that share a dim with them. */
static uint32_t nameable(const OpSpace *space, bool (*has_form)(const DimFactors *))
{
    uint32_t can = (UINT32_C(1) << space->n_index) - 1, before;
    do {
        before = can;
        for (int i = 0; i < n_operands(space); i++) {
            const Operand *operand = &space->operand[i];
            for (int d = 0; is_seen(operand) && d < operand->projection.n_dims; d++) {
                uint32_t here = 0;
                const DimFactors *factors = &operand->factors[d];
                for (int k = 0; factors->exact && k < factors->n; k++)
                    here |= UINT32_C(1) << factors->index[k];
                for (int j = 0; !factors->exact && j < space->n_index; j++)
                    here |= operand->projection.row[d].coef[j] != 0 ? UINT32_C(1) << j : 0;
                if (!has_form(factors) || (here & can) != here)
                    can &= ~here;
            }
        }
    } while (can != before);
    return can;
}

static bool dim_is_named(const DimFactors *factors, uint32_t can)
{
    return factors->exact && factors->n > 0 && can >> factors->index[0] & 1;
}

static void dimop_dim(const OpSpace *space, const Operand *operand, int d, uint32_t can, Buf *out)
{
    const DimFactors *factors = &operand->factors[d];
    if (!dim_is_named(factors, can)) {
        buf_printf(out, "%" PRId64, operand->shape.dim[d]);
        return;
    }
    for (int k = 0; k < factors->n; k++) {
        const IndexDim *index = &space->index[factors->index[k]];
        buf_puts(out, k > 0 ? " " : factors->n > 1 ? "(" : "");
        if (is_digit(index->name[0]))
            buf_printf(out, "%" PRId64, index->size);
        else
            buf_printf(out, "%s%s", index->name,
                       index->role == ROLE_REDUCE   ? "+"
                       : index->role == ROLE_FROZEN ? "^"
                                                    : "");
    }
    buf_puts(out, factors->n > 1 ? ")" : "");
}

/* Prints dimops. A scalar is `1`, as in nnScaler, since an empty text would be no operand. */
static bool print_dimop(const OpSpace *space, Buf *out, Buf *lost)
{
    uint32_t can = nameable(space, is_radix);
    for (int i = 0; i < n_operands(space); i++) {
        const Operand *operand = &space->operand[i];
        buf_puts(out, i == space->n_inputs ? (i > 0 ? " -> " : "-> ") : i > 0 ? ", " : "");
        buf_puts(out, !is_seen(operand) ? "?" : operand->shape.n_dims == 0 ? "1" : "");
        for (int d = 0; is_seen(operand) && d < operand->projection.n_dims; d++) {
            buf_puts(out, d > 0 ? " " : "");
            dimop_dim(space, operand, d, can, out);
        }
    }
    return notation_losses(space, TRAIT_RADIX | TRAIT_FROZEN | TRAIT_SUM | TRAIT_INPUTS, lost);
}

/* Chooses one letter for each index dim: the first letter of its name if that is free. */
static void choose_letters(const OpSpace *space, char letter[X_MAX])
{
    bool taken[256] = {false};
    for (int j = 0; j < space->n_index; j++) {
        char first = space->index[j].name[0];
        bool free = first >= 'a' && first <= 'z' && !taken[(unsigned char)first];
        letter[j] = free ? first : '\0';
        taken[(unsigned char)letter[j]] = true;
    }
    char next = 'a';
    for (int j = 0; j < space->n_index; j++) {
        if (letter[j])
            continue;
        while (taken[(unsigned char)next])
            next++;
        letter[j] = next++;
    }
}

static bool print_einsum(const OpSpace *space, Buf *out, Buf *lost)
{
    uint32_t can = nameable(space, is_unit);
    char letter[X_MAX];
    choose_letters(space, letter);
    for (int i = 0; i < n_operands(space); i++) {
        const Operand *operand = &space->operand[i];
        buf_puts(out, i == space->n_inputs ? "->" : i > 0 ? "," : "");
        for (int64_t d = 0; !operand->absent && d < operand->shape.n_dims; d++) {
            const DimFactors *factors = &operand->factors[d];
            bool named = is_seen(operand) && dim_is_named(factors, can) &&
                         space->index[factors->index[0]].role != ROLE_FROZEN;
            buf_putc(out, named ? letter[factors->index[0]] : '1');
        }
    }
    return notation_losses(space, TRAIT_FROZEN | TRAIT_SUM | TRAIT_INPUTS, lost);
}

/* ---- dim transforms ---- */

typedef struct {
    int dim, place; /* of input 0, and the place in its factors; dim -1: no dim has it */
} NotedDim;

static NotedDim find_place(const Operand *input, int index)
{
    for (int d = 0; is_seen(input) && d < input->projection.n_dims; d++)
        for (int k = 0; input->factors[d].exact && k < input->factors[d].n; k++)
            if (input->factors[d].index[k] == index)
                return (NotedDim){d, k};
    return (NotedDim){-1, 0};
}

/* How many factors of the output dim, starting at `from`, are adjacent in one input dim. */
static int run_length(const Operand *input, const DimFactors *factors, int from)
{
    NotedDim at = find_place(input, factors->index[from]);
    int n = 1;
    while (at.dim >= 0 && from + n < factors->n) {
        NotedDim next = find_place(input, factors->index[from + n]);
        if (next.dim != at.dim || next.place != at.place + n)
            break;
        n++;
    }
    return n;
}

/* Prints a run of an input dim's factors: the dim itself, or the part of a Split with the run's
 * borders. */
static void put_run(const OpSpace *space, const DimFactors *factors, int from, int n, Buf *out)
{
    const Operand *input = &space->operand[0];
    NotedDim at = find_place(input, factors->index[from]);
    if (at.dim < 0) {
        buf_printf(out, "Broadcast(%" PRId64 ")", space->index[factors->index[from]].size);
        return;
    }
    const DimFactors *whole = &input->factors[at.dim];
    if (n == whole->n) {
        buf_printf(out, "InputDim(%d)", at.dim);
        return;
    }
    buf_printf(out, "Split(InputDim(%d), (", at.dim);
    int part = 0;
    for (int k = 0, i = 0; k < whole->n; i++) {
        int length = k == at.place ? n : 1;
        int64_t size = 1;
        for (int f = k; f < k + length; f++)
            size *= space->index[whole->index[f]].size;
        part = k == at.place ? i : part;
        buf_printf(out, "%s%" PRId64, k > 0 ? ", " : "", size);
        k += length;
    }
    buf_printf(out, "), %d)", part);
}

/* Whether input 0 is read along the index dim with a stride or an offset: windows, a shift. */
static bool is_shifted(const OpSpace *space, int index)
{
    const Operand *input = &space->operand[0];
    bool used = false;
    for (int d = 0; is_seen(input) && d < input->projection.n_dims; d++)
        used |= input->projection.row[d].coef[index] != 0;
    return used && find_place(input, index).dim < 0;
}

static void put_transform(const OpSpace *space, const Operand *output, int d, Buf *out)
{
    const DimFactors *factors = &output->factors[d];
    bool shifted = false;
    for (int k = 0; k < factors->n; k++)
        shifted |= is_shifted(space, factors->index[k]);
    if (!factors->exact || factors->n == 0 || shifted) {
        buf_puts(out, "Singleton");
        return;
    }
    int first = run_length(&space->operand[0], factors, 0);
    buf_puts(out, first < factors->n ? "Flatten(" : "");
    for (int k = 0; k < factors->n;) {
        int n = run_length(&space->operand[0], factors, k);
        buf_puts(out, k > 0 ? ", " : "");
        put_run(space, factors, k, n, out);
        k += n;
    }
    buf_puts(out, first < factors->n ? ")" : "");
}

static bool print_transforms(const OpSpace *space, Buf *out, Buf *lost)
{
    bool can = space->n_inputs > 0;
    for (int j = 0; j < space->n_index; j++)
        can &= space->index[j].role != ROLE_REDUCE;
    for (int i = 1; i < space->n_inputs; i++)
        can &= !is_cut(space, &space->operand[i]);
    for (int o = 0; can && o < space->n_outputs; o++) {
        const Operand *output = opspace_output(space, o);
        buf_puts(out, o > 0 ? ", [" : "[");
        for (int d = 0; is_seen(output) && d < output->projection.n_dims; d++) {
            buf_puts(out, d > 0 ? ", " : "");
            put_transform(space, output, d, out);
        }
        buf_putc(out, ']');
    }
    if (space->n_inputs == 0)
        buf_puts(lost, "there is no input whose dims it would have");
    return notation_losses(space, TRAIT_RADIX | (can ? 0 : TRAITS_ASIDE), lost) && can;
}

/* ---- all of them: those below, then other systems' ---- */

static const Notation notations[] = {
    {"dimop", 'd', print_dimop},
    {"einsum", 'e', print_einsum},
    {"transforms", 't', print_transforms},
};
enum { N_OWN = sizeof notations / sizeof *notations };

const Notation *notation_at(int i)
{
    if (i < N_OWN)
        return &notations[i];
    i -= N_OWN;
    for (const Peer *const *peer = built_peers; *peer; peer++)
        for (const Notation *it = (*peer)->notations; it && it->name; it++)
            if (i-- == 0)
                return it;
    return NULL;
}

int notation_count(void)
{
    int n = 0;
    while (notation_at(n))
        n++;
    return n;
}

const Notation *notation_find(Str name)
{
    const Notation *it;
    for (int i = 0; (it = notation_at(i)); i++)
        if (str_eq(name, str_from(it->name)))
            return it;
    return NULL;
}
