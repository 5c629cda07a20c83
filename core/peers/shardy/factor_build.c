#include "core/peers/shardy/factor_build.h"

#include <inttypes.h>

const Shape *factor_shape(const FactorBuild *build, int tensor)
{
    return &build->call->shape[tensor];
}

int64_t factor_size(const FactorBuild *build, int tensor, int dim)
{
    return build->call->shape[tensor].dim[dim];
}

void factor_start(FactorBuild *build)
{
    for (int t = 0; t < build->n; t++)
        build->place[t] = NO_DIM;
}

void factor_at(FactorBuild *build, int tensor, int dim)
{
    build->place[tensor] = dim;
}

void factor_add(FactorBuild *build, int64_t size, FactorType type, bool blocked)
{
    for (int t = 0; t < build->n; t++) {
        int dim = build->place[t];
        if (dim == NO_DIM || build->list[t][dim].n == FACTOR_PRODUCT_MAX)
            continue;
        FactorList *list = &build->list[t][dim];
        list->at[list->n++] = build->factors.n;
    }
    vec_push(build->arena, &build->factors,
             (Factor){.size = size, .type = type, .blocked = blocked});
}

void factor_add_one(FactorBuild *build, int tensor, int dim, int64_t size, FactorType type,
                    bool blocked)
{
    factor_start(build);
    factor_at(build, tensor, dim);
    factor_add(build, size, type, blocked);
}

/* ---- attributes ---- */

static const Attr *find_attr(const FactorBuild *build, const char *name)
{
    return op_attr(build->call->graph, build->call->graph_op, name);
}

FactorInts factor_ints(const FactorBuild *build, const char *name)
{
    const Attr *attr = find_attr(build, name);
    if (attr && attr->type == ATTR_INTS)
        return (FactorInts){attr->n, attr->ints};
    if (attr && attr->type == ATTR_INT)
        return (FactorInts){1, &attr->i};
    return (FactorInts){0, NULL};
}

FactorInts factor_ints_at(const FactorBuild *build, const char *name, int i)
{
    FactorInts all = factor_ints(build, name), none = {0, NULL};
    FactorInts lengths = factor_ints(build, arena_printf(build->arena, "%s.lengths", name));
    int64_t first = 0;
    if (i >= lengths.n || !lengths.at)
        return none;
    for (int k = 0; k <= i; k++) {
        first += k > 0 ? lengths.at[k - 1] : 0;
        if (lengths.at[k] < 0 || lengths.at[k] > all.n - first)
            return none;
    }
    return (FactorInts){(int)lengths.at[i], all.at + first};
}

int factor_find(FactorInts list, int64_t item)
{
    for (int i = 0; i < list.n; i++)
        if (list.at[i] == item)
            return i;
    return -1;
}

bool factor_has(FactorInts list, int64_t item)
{
    return factor_find(list, item) >= 0;
}

/* ---- refusals ---- */

bool factor_refuse(FactorBuild *build, ErrorKind kind, const char *what)
{
    return error_kind(build->err, kind, "%s", what);
}

bool factor_needs(FactorBuild *build, int n_operands, int n_results)
{
    return (build->call->n_operands >= n_operands && build->call->n_results >= n_results) ||
           error_kind(build->err, ERROR_INVALID,
                      "it needs %d operands and %d results but has %d and %d", n_operands,
                      n_results, build->call->n_operands, build->call->n_results);
}

const char *factor_tensor_name(const FactorBuild *build, int tensor)
{
    int result = tensor - build->call->n_operands;
    return arena_printf(build->arena, "%s %d", result < 0 ? "input" : "result",
                        result < 0 ? tensor : result);
}

bool factor_check_dims(FactorBuild *build, FactorInts dims, int tensor)
{
    for (int i = 0; i < dims.n; i++)
        if (dims.at[i] < 0 || dims.at[i] >= factor_shape(build, tensor)->n_dims)
            return error_kind(build->err, ERROR_OUT_OF_RANGE, "%s has no dim %" PRId64,
                              factor_tensor_name(build, tensor), dims.at[i]);
    return true;
}

bool factor_same_size(FactorBuild *build, int a, int dim_a, int b, int dim_b)
{
    int64_t size_a = factor_size(build, a, dim_a), size_b = factor_size(build, b, dim_b);
    return size_a == size_b ||
           error_kind(build->err, ERROR_INVALID,
                      "dim %d of %s has size %" PRId64 ", dim %d of %s has size %" PRId64, dim_a,
                      factor_tensor_name(build, a), size_a, dim_b, factor_tensor_name(build, b),
                      size_b);
}

/* ---- the rule ---- */

/* Removes factors of size 1 from products. */
static void drop_ones(const FactorBuild *build, FactorList *list)
{
    int n = 0, given = list->n;
    for (int i = 0; i < given && given > 1; i++)
        if (build->factors.at[list->at[i]].size != 1)
            list->at[n++] = list->at[i];
    list->n = given > 1 ? n : given;
}

/* Renumbers the factors that are in some dim, in the order they were added. */
static void renumber(FactorBuild *build)
{
    int n = 0, *number = arena_array(build->arena, int, build->factors.n);
    for (int t = 0; t < build->n; t++)
        for (int d = 0; d < factor_shape(build, t)->n_dims; d++)
            for (int i = 0; i < build->list[t][d].n; i++)
                number[build->list[t][d].at[i]] = 1;
    for (int f = 0; f < build->factors.n; f++) {
        build->factors.at[n] = build->factors.at[f];
        number[f] = number[f] ? n++ : 0;
    }
    build->factors.n = n;
    for (int t = 0; t < build->n; t++)
        for (int d = 0; d < factor_shape(build, t)->n_dims; d++)
            for (int i = 0; i < build->list[t][d].n; i++)
                build->list[t][d].at[i] = number[build->list[t][d].at[i]];
}

FactorRule *factor_finish(FactorBuild *build)
{
    FactorRule *rule = arena_make(build->arena, FactorRule);
    FactorTensor *tensor = arena_array(build->arena, FactorTensor, build->n);
    for (int t = 0; t < build->n; t++)
        for (int d = 0; d < factor_shape(build, t)->n_dims; d++)
            drop_ones(build, &build->list[t][d]);
    renumber(build);
    for (int t = 0; t < build->n; t++) {
        tensor[t].n_dims = (int)factor_shape(build, t)->n_dims;
        for (int d = 0; d < tensor[t].n_dims; d++) {
            FactorList *list = &build->list[t][d];
            if (list->n == 0) {
                *list = (FactorList){1, {build->factors.n}};
                vec_push(build->arena, &build->factors, (Factor){.size = 1});
            }
            tensor[t].dim[d] = (FactorDim){list->n, list->at};
        }
    }
    *rule = (FactorRule){.n_factors = build->factors.n,
                         .n_operands = build->call->n_operands,
                         .n_results = build->call->n_results,
                         .factor = build->factors.at,
                         .tensor = tensor};
    return rule;
}
