#include "core/peers/shardy/factor_rule.h"

#include "core/base/scan.h"
#include "core/base/vec.h"

enum { FACTORS_READ_MAX = 512, TENSORS_READ_MAX = 256, PRODUCT_MAX = 64 };

typedef struct {
    Arena *arena;
    Scan *scan;
    Vec(Factor) factors;
    Vec(FactorTensor) tensors;
    int highest; /* highest factor that a dim names, or -1 */
} RuleReader;

static bool refuse(RuleReader *r, ErrorKind kind, const char *what)
{
    Scan *scan = r->scan;
    error_kind(scan->err, kind, "%s", what);
    error_at(scan->err, scan->source, scan->at);
    return false;
}

static bool expect_text(Scan *scan, Str text)
{
    return scan_accept_text(scan, text) || scan_fail(scan, "expected '%.*s'", STR_ARG(text));
}

/* Reads a factor's name at the current position without skipping spaces; -1 if there is none. */
static int read_name(RuleReader *r)
{
    Scan *scan = r->scan;
    const char *text = scan->source->text.s;
    size_t n = scan->source->text.n, at = scan->at;
    if (at >= n || text[at] < 'i' || text[at] > 'z')
        return -1;
    int letter = text[at++] - 'i', number = 0;
    if (letter == 'z' - 'i' && at < n && text[at] == '_') {
        size_t digits = ++at;
        while (at < n && text[at] >= '0' && text[at] <= '9' && number < FACTORS_READ_MAX)
            number = number * 10 + (text[at++] - '0');
        if (at == digits || text[digits] == '0' || number >= FACTORS_READ_MAX)
            return -1;
    }
    scan->at = at;
    return letter + number;
}

static bool read_dim(RuleReader *r, FactorTensor *tensor)
{
    int list[PRODUCT_MAX], n = 0;
    (void)scan_peek(r->scan);
    for (int factor; n < PRODUCT_MAX && (factor = read_name(r)) >= 0; n++) {
        list[n] = factor;
        r->highest = factor > r->highest ? factor : r->highest;
    }
    if (n == 0)
        return refuse(r, ERROR_SYNTAX, "expected a factor, i to z or z_1, z_2, ..");
    if (tensor->n_dims == FACTOR_DIMS_MAX)
        return refuse(r, ERROR_UNSUPPORTED, "a tensor has too many dims");
    int *at = arena_array(r->arena, int, n);
    memcpy(at, list, (size_t)n * sizeof *at);
    tensor->dim[tensor->n_dims++] = (FactorDim){n, at};
    return true;
}

static bool read_tensor(RuleReader *r)
{
    FactorTensor tensor = {0};
    if (!scan_char(r->scan, '['))
        return false;
    for (bool more = !scan_accept(r->scan, ']'); more; more = !scan_accept(r->scan, ']'))
        if ((tensor.n_dims > 0 && !scan_char(r->scan, ',')) || !read_dim(r, &tensor))
            return false;
    if (r->tensors.n == TENSORS_READ_MAX)
        return refuse(r, ERROR_UNSUPPORTED, "too many tensors");
    vec_push(r->arena, &r->tensors, tensor);
    return true;
}

/* At least one tensor: "()" is a syntax error in Shardy too. */
static bool read_tensors(RuleReader *r, int *n)
{
    int before = r->tensors.n;
    if (!scan_char(r->scan, '('))
        return false;
    do {
        if (!read_tensor(r))
            return false;
    } while (scan_accept(r->scan, ','));
    *n = r->tensors.n - before;
    return scan_char(r->scan, ')');
}

/* {i=2, j=4}: all factors, in order. */
static bool read_sizes(RuleReader *r)
{
    if (!scan_accept(r->scan, '{'))
        return true;
    do {
        Factor factor = {0};
        (void)scan_peek(r->scan);
        if (read_name(r) != r->factors.n)
            return refuse(r, ERROR_SYNTAX, "expected the next factor in order, i, j, ..");
        if (!scan_char(r->scan, '=') || !scan_int(r->scan, &factor.size))
            return false;
        if (factor.size < 0)
            return refuse(r, ERROR_SYNTAX, "a factor's size must be 0 or more");
        vec_push(r->arena, &r->factors, factor);
    } while (scan_accept(r->scan, ','));
    return scan_char(r->scan, '}');
}

static bool put_in_set(RuleReader *r, int factor, FactorType type, bool blocked)
{
    if (factor < 0 || factor >= r->factors.n)
        return refuse(r, ERROR_SYNTAX, "expected a factor");
    Factor *at = &r->factors.at[factor];
    if (blocked ? at->blocked : at->type != FACTOR_PASS_THROUGH)
        return refuse(r, ERROR_INVALID, "the factor is already in a set");
    if (blocked)
        at->blocked = true;
    else
        at->type = type;
    return true;
}

/* Reads " reduction={k}"; sets are in fixed order, each at most once, their factors ascending. */
static bool read_set(RuleReader *r, FactorType type, bool blocked)
{
    int last = -1;
    if (!scan_accept_text(r->scan,
                          str_from(blocked ? "blocked_propagation" : factor_type_name(type))))
        return true;
    if (!scan_char(r->scan, '=') || !scan_char(r->scan, '{'))
        return false;
    do {
        (void)scan_peek(r->scan);
        int factor = read_name(r);
        if (factor >= 0 && factor < last)
            return refuse(r, ERROR_INVALID, "the factors of a set must be in order");
        last = factor;
        if (!put_in_set(r, factor, type, blocked))
            return false;
    } while (scan_accept(r->scan, ','));
    return scan_char(r->scan, '}');
}

/* ---- what must hold ---- */

static bool check_tensor(RuleReader *r, const FactorTensor *tensor, bool result, bool *used)
{
    bool here[FACTORS_READ_MAX + 32] = {false};
    for (int d = 0; d < tensor->n_dims; d++)
        for (int i = 0; i < tensor->dim[d].n; i++) {
            int factor = tensor->dim[d].at[i];
            if (factor >= r->factors.n)
                return refuse(r, ERROR_INVALID, "a dim has a factor without a size");
            if (here[factor])
                return refuse(r, ERROR_INVALID, "a factor is twice in a tensor");
            if (tensor->dim[d].n > 1 && r->factors.at[factor].size == 1)
                return refuse(r, ERROR_INVALID, "a factor of size 1 is in a product");
            if (result && r->factors.at[factor].type == FACTOR_REDUCTION)
                return refuse(r, ERROR_INVALID, "a reduced factor is in a result");
            here[factor] = used[factor] = true;
        }
    return true;
}

static bool check(RuleReader *r, const FactorRule *rule)
{
    bool used[FACTORS_READ_MAX + 32] = {false};
    for (int t = 0; t < rule->n_operands + rule->n_results; t++)
        if (!check_tensor(r, &rule->tensor[t], t >= rule->n_operands, used))
            return false;
    for (int f = 0; f < rule->n_factors; f++)
        if (!used[f])
            return refuse(r, ERROR_INVALID, "a factor is in no tensor");
    return true;
}

static bool read_rule(RuleReader *r, FactorRule *rule)
{
    Scan *scan = r->scan;
    if (!read_tensors(r, &rule->n_operands) || !expect_text(scan, STR("->")) ||
        !read_tensors(r, &rule->n_results) || !read_sizes(r))
        return false;
    if (r->factors.n > FACTORS_READ_MAX)
        return refuse(r, ERROR_UNSUPPORTED, "too many factors");
    for (int type = FACTOR_REDUCTION; type < FACTOR_TYPE_COUNT; type++)
        if (!read_set(r, (FactorType)type, false))
            return false;
    if (!read_set(r, FACTOR_PASS_THROUGH, true))
        return false;
    rule->custom = scan_accept(scan, ',');
    if ((rule->custom && !expect_text(scan, STR("custom"))) || !scan_end(scan))
        return false;
    rule->n_factors = r->factors.n;
    rule->factor = r->factors.at;
    rule->tensor = r->tensors.at;
    return check(r, rule);
}

FactorRule *factor_rule_read(Arena *arena, const Source *source, Error *err)
{
    Scan scan = scan_begin(source, err);
    RuleReader reader = {.arena = arena, .scan = &scan, .highest = -1};
    FactorRule *rule = arena_make(arena, FactorRule);
    *rule = (FactorRule){0};
    return read_rule(&reader, rule) ? rule : NULL;
}
