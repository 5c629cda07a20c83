#include "core/rules/derivative.h"
#include "core/space/gradient.h"

#include <stdlib.h>

static bool fail(Str part, const char *what, Error *err)
{
    return error_kind(err, ERROR_USAGE, "'%.*s' in a column `gradient` %s", STR_ARG(part), what);
}

static bool read_number(Str text, int most, int *out)
{
    int64_t value;
    if (!str_to_int(text, &value) || value < 0 || value >= most)
        return false;
    *out = (int)value;
    return true;
}

/* "0", "0 1 2", "all" */
static bool read_inputs(Str text, DerivativeClause *clause, Error *err)
{
    if (str_eq(text, STR("all"))) {
        clause->all = true;
        return true;
    }
    for (Str rest = text; rest.n > 0; clause->n_inputs++) {
        Str word = str_take(&rest, ' ');
        if (clause->n_inputs == CLAUSE_INPUTS ||
            !read_number(word, OPERANDS_MAX, &clause->input[clause->n_inputs]))
            return fail(text, "is no list of inputs", err);
    }
    return clause->n_inputs > 0 || fail(text, "names no input", err);
}

/* "x0 y1 others", "inputs" */
static bool read_reads(Str text, DerivativeClause *clause, Error *err)
{
    for (Str rest = text; rest.n > 0;) {
        Str word = str_take(&rest, ' ');
        if (str_eq(word, STR("others"))) {
            clause->others = true;
            continue;
        }
        if (str_eq(word, STR("inputs"))) {
            clause->inputs = true;
            continue;
        }
        bool known =
            word.n > 1 && (word.s[0] == 'x' || word.s[0] == 'y') && clause->n_reads < CLAUSE_READS;
        int n = clause->n_reads;
        if (!known ||
            !read_number((Str){word.s + 1, word.n - 1}, OPERANDS_MAX, &clause->read[n].operand))
            return fail(word, "is neither x0, x1.. nor y0, y1..", err);
        clause->read[n].output = word.s[0] == 'y';
        clause->n_reads++;
    }
    return true;
}

static void read_factor(Arena *arena, Str text, DerivativeClause *clause)
{
    const char *copy = arena_str(arena, text);
    char *end;
    double number = strtod(copy, &end);
    if (*end == '\0') {
        clause->number = number;
        return;
    }
    clause->factor = str_eq(text, STR("mean")) ? FACTOR_MEAN : FACTOR_ATTR;
    clause->attr = copy;
}

/* "contract(x1) *alpha", "zero", "refused no reason" */
static bool read_what(Arena *arena, Str text, DerivativeClause *clause, Error *err)
{
    Str rest = text, what = str_trim(str_take(&rest, '*'));
    clause->number = 1;
    if (rest.n > 0)
        read_factor(arena, str_trim(rest), clause);
    if (str_starts(text, STR("refused"))) {
        clause->refused = arena_str(arena, str_trim((Str){text.s + 7, text.n - 7}));
        return true;
    }
    if (str_eq(what, STR("zero")))
        return true;
    Str kernel = str_take(&what, '(');
    clause->kernel = arena_str(arena, str_trim(kernel));
    return read_reads(str_trim(str_take(&what, ')')), clause, err);
}

bool derivative_read(Arena *arena, const char *text, Derivative *out, Error *err)
{
    Vec(DerivativeClause) clauses = {0};
    *out = (Derivative){0};
    for (Str rest = str_from(text); rest.n > 0;) {
        Str part = str_trim(str_take(&rest, ';'));
        if (clauses.n == CLAUSES_MAX)
            return fail(part, "is one clause too many", err);
        DerivativeClause clause = {0};
        Str what = part, inputs = str_trim(str_take(&what, ':'));
        if (!read_inputs(inputs, &clause, err) || !read_what(arena, str_trim(what), &clause, err))
            return false;
        vec_push(arena, &clauses, clause);
    }
    *out = (Derivative){clauses.n, clauses.at};
    return true;
}

const DerivativeClause *derivative_clause(const Derivative *derivative, int input)
{
    const DerivativeClause *rest = NULL;
    for (int i = 0; i < derivative->n; i++) {
        const DerivativeClause *clause = &derivative->clause[i];
        if (clause->all)
            rest = clause;
        for (int k = 0; k < clause->n_inputs; k++)
            if (clause->input[k] == input)
                return clause;
    }
    return rest;
}

/* ---- flops ---- */

/* Flops of kernels by what they are counted in; those without a row are counted by their index
 * points, or cost twice their forward op. */
static const struct {
    const char *kernel;
    double forwards, points, elements; /* of the forward op; by index point; by element read */
} works[] = {
    {"AttentionBackward", 2.5, 0, 0},
    {"RecurrentBackward", 3, 0, 0},
    {"GatherGrad", 0, 0, 1},
    {"ScatterGrad", 0, 0, 1},
    {"view", 0, 0, 0},
    {"local", 1, 1, 0},
    {"DropoutBackward", 0, 2, 0},             /* the mask, the scale */
    {"SoftmaxBackward", 0, 4, 0},             /* y * (dy - sum(y * dy)) */
    {"LogSoftmaxBackward", 0, 4, 0},          /* dy - exp(y) * sum(dy) */
    {"TokenLossGrad", 0, 4, 0},               /* dy * exp(x - most) / sum */
    {"LayerNormalizationBackward", 0, 12, 0}, /* as NormGrad, core/rules/operators/gradient.c */
    {"RMSNormalizationBackward", 0, 10, 0},   /* without the mean */
};

static bool is_contraction(const OpSpace *space)
{
    static const char *const names[] = {"contract",       "activated",      "ConvGrad",
                                        "ConvWeightGrad", "DeformConvGrad", "DeformConvWeightGrad",
                                        "NBitsGrad"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(space->gradient->kernel, names[i]) == 0)
            return true;
    return false;
}

static int n_present(const OpSpace *space)
{
    int n = 0;
    for (int i = 0; i < space->n_inputs; i++)
        n += !space->operand[i].absent;
    return n;
}

/* Whether several index points add to one element. */
static bool adds(const OpSpace *space)
{
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_REDUCE || space->index[j].role == ROLE_FROZEN)
            return true;
    return false;
}

static double n_written(const OpSpace *space)
{
    double n = 0;
    for (int o = 0; o < space->n_outputs; o++)
        n += (double)shape_elements(&opspace_output(space, o)->shape);
    return n;
}

bool derivative_passes_on(const OpSpace *space)
{
    return space->gradient && strcmp(space->gradient->kernel, "contract") == 0 &&
           n_present(space) == 1 && !adds(space) && space->gradient->scale == 1;
}

double derivative_flops(const OpSpace *space)
{
    double points = 1;
    for (int j = 0; j < space->n_index; j++)
        points *= (double)space->index[j].size;
    if (is_contraction(space))
        return points * (n_present(space) - 1 + adds(space));
    /* A clip leaves out the index points of other parts. */
    if (n_present(space) == 1 || strcmp(space->gradient->kernel, "move") == 0)
        return points > n_written(space) && !opspace_output(space, 0)->projection.clip ? points : 0;
    double forward = space->gradient->forward->flops;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (strcmp(works[i].kernel, space->gradient->kernel) == 0)
            return works[i].forwards * forward + works[i].points * points +
                   works[i].elements * (double)shape_elements(&space->operand[0].shape);
    return 2 * forward;
}

/* ---- of an op ---- */

/* Whether a user's annotation sums over dims of every input, and each dim of a tensor is a mixed
 * radix of index dims: then it is read as an einsum. */
static bool is_product(const OpSpace *space)
{
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_FROZEN ||
            (space->index[j].role == ROLE_REDUCE && space->index[j].reduce != REDUCE_SUM))
            return false;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        const Operand *operand = &space->operand[i];
        bool summed = i >= space->n_inputs;
        if (operand->absent || operand->ignored)
            return false;
        for (int d = 0; d < operand->projection.n_dims; d++) {
            const DimFactors *factors = &operand->factors[d];
            if (operand->shape.dim[d] != 1 && !(factors->n > 0 && factors->exact))
                return false;
            for (int k = 0; k < factors->n; k++)
                summed |= space->index[factors->index[k]].role == ROLE_REDUCE;
        }
        if (!summed)
            return false;
    }
    return space->n_inputs > 0 && space->n_outputs == 1;
}

const Derivative *derivative_find(const Registry *registry, const Operator *row,
                                  const OpSpace *space)
{
    static const DerivativeClause others = {
        .all = true, .others = true, .kernel = "contract", .number = 1};
    static const Derivative product = {1, &others};
    const Derivative *own = row ? registry_derivative(registry, row) : NULL;
    if (own || !row || row->rule)
        return own;
    if (row->kernel)
        return registry_derivative(registry, operator_find(row->kernel));
    return space && !space->no_rule && is_product(space) ? &product : NULL;
}
