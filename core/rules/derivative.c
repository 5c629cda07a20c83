#include "core/rules/derivative.h"

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
    *out = (Derivative){0};
    for (Str rest = str_from(text); rest.n > 0; out->n++) {
        Str part = str_trim(str_take(&rest, ';'));
        if (out->n == CLAUSES_MAX)
            return fail(part, "is one clause too many", err);
        DerivativeClause *clause = &out->clause[out->n];
        *clause = (DerivativeClause){0};
        Str what = part, inputs = str_trim(str_take(&what, ':'));
        if (!read_inputs(inputs, clause, err) || !read_what(arena, str_trim(what), clause, err))
            return false;
    }
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
