#include "core/peers/tapestry/scope.h"

#include <inttypes.h>

/* One call, its arguments evaluated. */
typedef struct {
    Scope *scope;
    const PhraseNode *node;
    int n;
    const Datum *arg;
} FunctionCall;

#define fail(call, ...) node_fail((call)->scope, (call)->node, __VA_ARGS__)

/* ---- arguments ---- */

static bool int_at(const FunctionCall *call, int i, int64_t *out)
{
    *out = call->arg[i].number;
    return call->arg[i].kind == DATUM_INT ||
           fail(call, E_TYPE, "argument %d of %.*s must be a number", i + 1,
                STR_ARG(call->node->name));
}

static bool list_at(const FunctionCall *call, int i, DatumKind of, Datum *out)
{
    *out = call->arg[i];
    bool fits = out->kind == DATUM_LIST;
    for (int k = 0; fits && k < out->n; k++)
        fits = out->item[k].kind == of;
    return fits || fail(call, E_TYPE, "argument %d of %.*s must be a list of %s", i + 1,
                        STR_ARG(call->node->name), of == DATUM_INT ? "numbers" : "lists");
}

static bool length_at(const FunctionCall *call, int i, int64_t *out)
{
    if (!int_at(call, i, out))
        return false;
    if (*out < 0)
        return fail(call, E_SHAPE, "a list of %" PRId64 " items", *out);
    return scope_work(call->scope, call->node, *out);
}

/* The arguments as one list: numbers, or a single list of numbers. */
static bool numbers(const FunctionCall *call, Datum *out)
{
    if (call->n == 1 && call->arg[0].kind == DATUM_LIST)
        return list_at(call, 0, DATUM_INT, out);
    *out = (Datum){.kind = DATUM_LIST, .n = call->n, .item = call->arg};
    int64_t number;
    for (int i = 0; i < call->n; i++)
        if (!int_at(call, i, &number))
            return false;
    return true;
}

/* ---- making lists ---- */

static bool repeat(const FunctionCall *call, int64_t n, Datum value, Datum *out)
{
    Datum *item = arena_array(call->scope->arena, Datum, n);
    for (int64_t i = 0; i < n; i++)
        item[i] = value;
    *out = (Datum){.kind = DATUM_LIST, .n = (int)n, .item = item};
    return true;
}

static bool fn_ones(const FunctionCall *call, Datum *out)
{
    int64_t n;
    return length_at(call, 0, &n) && repeat(call, n, datum_int(1), out);
}

static bool fn_zeros(const FunctionCall *call, Datum *out)
{
    int64_t n;
    return length_at(call, 0, &n) && repeat(call, n, datum_int(0), out);
}

/* fill(n, value) */
static bool fn_fill(const FunctionCall *call, Datum *out)
{
    int64_t n;
    return length_at(call, 0, &n) && repeat(call, n, call->arg[1], out);
}

static bool fn_iota(const FunctionCall *call, Datum *out)
{
    int64_t n;
    if (!length_at(call, 0, &n))
        return false;
    Datum *item = arena_array(call->scope->arena, Datum, n);
    for (int64_t i = 0; i < n; i++)
        item[i] = datum_int(i);
    *out = (Datum){.kind = DATUM_LIST, .n = (int)n, .item = item};
    return true;
}

/* ---- folds ---- */

static bool fn_len(const FunctionCall *call, Datum *out)
{
    if (call->arg[0].kind != DATUM_LIST)
        return fail(call, E_TYPE, "len needs a list");
    *out = datum_int(call->arg[0].n);
    return true;
}

static bool fold(const FunctionCall *call, char op, int64_t start, Datum *out)
{
    Datum list;
    *out = datum_int(start);
    if (!numbers(call, &list))
        return false;
    for (int i = 0; i < list.n; i++) {
        Datum so_far = *out;
        if (!datum_binary(call->scope, call->node, op, &so_far, &list.item[i], out))
            return false;
    }
    return true;
}

static bool fn_sum(const FunctionCall *call, Datum *out)
{
    return fold(call, '+', 0, out);
}

static bool fn_prod(const FunctionCall *call, Datum *out)
{
    return fold(call, '*', 1, out);
}

static bool extreme(const FunctionCall *call, int sign, Datum *out)
{
    Datum list;
    if (!numbers(call, &list))
        return false;
    if (list.n == 0)
        return fail(call, E_TYPE, "%.*s of nothing", STR_ARG(call->node->name));
    *out = list.item[0];
    for (int i = 1; i < list.n; i++)
        if (sign > 0 ? list.item[i].number > out->number : list.item[i].number < out->number)
            *out = list.item[i];
    return true;
}

static bool fn_min(const FunctionCall *call, Datum *out)
{
    return extreme(call, -1, out);
}

static bool fn_max(const FunctionCall *call, Datum *out)
{
    return extreme(call, 1, out);
}

/* Division rounded up: the number of pieces of size b that cover a. */
static bool fn_cdiv(const FunctionCall *call, Datum *out)
{
    int64_t a, b;
    if (!int_at(call, 0, &a) || !int_at(call, 1, &b))
        return false;
    Datum left = datum_int(a), right = datum_int(b), zero = datum_int(0), quotient;
    *out = zero;
    if (!datum_binary(call->scope, call->node, '/', &left, &right, &quotient))
        return false;
    bool rest = b != -1 && a % b != 0;
    *out = datum_int(quotient.number + (rest ? 1 : 0));
    return true;
}

/* ---- permutations and sums ---- */

static bool fn_inv(const FunctionCall *call, Datum *out)
{
    Datum perm;
    if (!list_at(call, 0, DATUM_INT, &perm))
        return false;
    Datum *item = arena_array(call->scope->arena, Datum, perm.n);
    bool *seen = arena_array(call->scope->arena, bool, perm.n);
    for (int i = 0; i < perm.n; i++) {
        int64_t to = perm.item[i].number;
        if (to < 0 || to >= perm.n || seen[to])
            return fail(call, E_PERM, "%" PRId64 " at position %d does not belong to a permutation",
                        to, i);
        seen[to] = true;
        item[to] = datum_int(i);
    }
    *out = (Datum){.kind = DATUM_LIST, .n = perm.n, .item = item};
    return true;
}

/* Exclusive sum: the start of each piece. */
static bool fn_cumsum(const FunctionCall *call, Datum *out)
{
    Datum list, sum = datum_int(0);
    if (!list_at(call, 0, DATUM_INT, &list))
        return false;
    Datum *item = arena_array(call->scope->arena, Datum, list.n);
    for (int i = 0; i < list.n; i++) {
        Datum before = sum;
        item[i] = sum;
        if (!datum_binary(call->scope, call->node, '+', &before, &list.item[i], &sum))
            return false;
    }
    *out = (Datum){.kind = DATUM_LIST, .n = list.n, .item = item};
    return true;
}

/* ---- broadcasting, NumPy's ---- */

static bool join_shape(const FunctionCall *call, const Datum *shape, Datum *joined, int n)
{
    for (int d = 0; d < shape->n; d++) {
        const Datum *size = &shape->item[d];
        Datum *at = &joined[n - shape->n + d];
        if (size->kind != DATUM_INT)
            return fail(call, E_TYPE, "a shape must be a list of numbers");
        if (at->number != size->number && at->number != 1 && size->number != 1)
            return fail(call, E_BROADCAST,
                        "dim %d from the end is %" PRId64 " in one and %" PRId64 " in another",
                        shape->n - d, at->number, size->number);
        if (at->number == 1)
            *at = *size;
    }
    return true;
}

static bool is_shape(const Datum *list)
{
    return list->n == 0 || list->item[0].kind != DATUM_LIST;
}

/* broadcast(shape, shape, ..), broadcast(list of shapes) */
static bool fn_broadcast(const FunctionCall *call, Datum *out)
{
    Vec(const Datum *) shapes = {0};
    int n = 0;
    for (int i = 0; i < call->n; i++) {
        const Datum *arg = &call->arg[i];
        if (arg->kind != DATUM_LIST)
            return fail(call, E_TYPE, "broadcast needs shapes");
        for (int k = 0; k < (is_shape(arg) ? 1 : arg->n); k++)
            vec_push(call->scope->arena, &shapes, is_shape(arg) ? arg : &arg->item[k]);
    }
    for (int i = 0; i < shapes.n; i++) {
        if (shapes.at[i]->kind != DATUM_LIST)
            return fail(call, E_TYPE, "broadcast needs shapes");
        n = shapes.at[i]->n > n ? shapes.at[i]->n : n;
        if (!scope_work(call->scope, call->node, shapes.at[i]->n))
            return false;
    }
    Datum *joined = arena_array(call->scope->arena, Datum, n);
    for (int d = 0; d < n; d++)
        joined[d] = datum_int(1);
    for (int i = 0; i < shapes.n; i++)
        if (!join_shape(call, shapes.at[i], joined, n))
            return false;
    *out = (Datum){.kind = DATUM_LIST, .n = n, .item = joined};
    return true;
}

/* bcast(coordinates, shape): the last coordinates, one for each dim of the shape; 0 where the dim
 * has size 1. */
static bool fn_bcast(const FunctionCall *call, Datum *out)
{
    Datum shape;
    const Datum *from = &call->arg[0];
    if (from->kind != DATUM_LIST)
        return fail(call, E_TYPE, "argument 1 of bcast must be a list of coordinates");
    if (!list_at(call, 1, DATUM_INT, &shape))
        return false;
    if (shape.n > from->n)
        return fail(call, E_BROADCAST, "a shape of %d dims cannot be broadcast to %d", shape.n,
                    from->n);
    Datum *item = arena_array(call->scope->arena, Datum, shape.n);
    for (int d = 0; d < shape.n; d++)
        item[d] = shape.item[d].number == 1 ? datum_int(0) : from->item[from->n - shape.n + d];
    *out = (Datum){.kind = DATUM_LIST, .n = shape.n, .item = item};
    return true;
}

static const struct {
    const char *name;
    int n_min, n_max;
    bool (*run)(const FunctionCall *call, Datum *out);
} functions[] = {
    {"ones", 1, 1, fn_ones},
    {"zeros", 1, 1, fn_zeros},
    {"fill", 2, 2, fn_fill},
    {"iota", 1, 1, fn_iota},
    {"len", 1, 1, fn_len},
    {"sum", 1, LIST_MAX, fn_sum},
    {"prod", 1, LIST_MAX, fn_prod},
    {"min", 1, LIST_MAX, fn_min},
    {"max", 1, LIST_MAX, fn_max},
    {"cdiv", 2, 2, fn_cdiv},
    {"inv", 1, 1, fn_inv},
    {"cumsum", 1, 1, fn_cumsum},
    {"broadcast", 1, LIST_MAX, fn_broadcast},
    {"bcast", 2, 2, fn_bcast},
};

bool evaluate_call(Scope *scope, const PhraseNode *node, Datum *out)
{
    Datum *arg = arena_array(scope->arena, Datum, node->n);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!str_eq(node->name, str_from(functions[i].name)))
            continue;
        if (node->n < functions[i].n_min || node->n > functions[i].n_max)
            return node_fail(scope, node, E_TYPE, "%s takes %d arguments, not %d",
                             functions[i].name, functions[i].n_min, node->n);
        for (int k = 0; k < node->n; k++)
            if (!evaluate(scope, node->arg[k], &arg[k]) || !scope_work(scope, node, arg[k].n))
                return false;
        FunctionCall call = {scope, node, node->n, arg};
        return functions[i].run(&call, out);
    }
    return node_fail(scope, node, E_UNBOUND, "there is no function %.*s", STR_ARG(node->name));
}
