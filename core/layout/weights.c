#include "core/layout/weights.h"

#include "core/space/opspace.h"

#include <inttypes.h>
#include <pthread.h>

struct Weights {
    pthread_mutex_t lock;                     /* held while a list is looked for and added */
    int n_lists, begin[WEIGHT_LISTS_MAX + 2]; /* list i has the weights begin[i] .. begin[i + 1] */
    int64_t sum[WEIGHT_LISTS_MAX + 1];
    int32_t weight[WEIGHTS_MAX];
};

Weights *weights_new(Arena *arena)
{
    Weights *weights = arena_make(arena, Weights);
    pthread_mutex_init(&weights->lock, NULL);
    return weights;
}

static bool list_is(const Weights *weights, int number, const int64_t *size, int n, int64_t divisor)
{
    int begin = weights->begin[number];
    bool same = weights->begin[number + 1] - begin == n;
    for (int i = 0; same && i < n; i++)
        same = weights->weight[begin + i] == size[i] / divisor;
    return same;
}

/* Returns the number of the list, which is added if there is none like it; -1: no room. */
static int put_list(Weights *weights, const int64_t *size, int n, int64_t divisor)
{
    for (int i = 1; i <= weights->n_lists; i++)
        if (list_is(weights, i, size, n, divisor))
            return i;
    int number = weights->n_lists + 1, begin = weights->begin[number];
    if (number > WEIGHT_LISTS_MAX || n > WEIGHTS_MAX - begin)
        return -1;
    weights->begin[number + 1] = begin + n;
    for (int i = 0; i < n; i++) {
        weights->weight[begin + i] = (int32_t)(size[i] / divisor);
        weights->sum[number] += size[i] / divisor;
    }
    return weights->n_lists = number;
}

/* The number of the list for parts of these sizes, from 1; 0 if all have one size; -1 with *err. */
static int number_of(const Mesh *mesh, const int64_t *size, int n, Error *err)
{
    int64_t divisor = 0;
    bool equal = true;
    for (int i = 0; i < n; i++) {
        if (size[i] < 1 || size[i] > INT32_MAX) {
            error_kind(err, ERROR_OUT_OF_RANGE, "a part has from 1 to %d elements", INT32_MAX);
            return -1;
        }
        divisor = common_divisor(divisor, size[i]);
        equal = equal && size[i] == size[0];
    }
    if (equal)
        return 0;
    pthread_mutex_lock(&mesh->weights->lock);
    int number = put_list(mesh->weights, size, n, divisor);
    pthread_mutex_unlock(&mesh->weights->lock);
    if (number < 0)
        error_kind(err, ERROR_OUT_OF_RANGE,
                   "at most %d lists of sizes, of %d parts together, can be in use",
                   WEIGHT_LISTS_MAX, WEIGHTS_MAX);
    return number;
}

WeightList weights_list(const Mesh *mesh, int number)
{
    const Weights *weights = mesh->weights;
    int begin = weights->begin[number];
    return (WeightList){weights->weight + begin, weights->begin[number + 1] - begin,
                        weights->sum[number]};
}

bool cut_sized(int64_t size, const int64_t *part, int n_parts, const uint8_t *atom, int n,
               const Mesh *mesh, Cut *out, Error *err)
{
    *out = (Cut){.n = 1, .digit = {{.size = size, .n = (uint8_t)n}}};
    memcpy(out->digit[0].atom, atom, (size_t)n);
    int64_t wanted = mesh_atoms_size(mesh, cut_atoms(out)), total = 0;
    if (n_parts != wanted)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "%d sizes are given, but the axes make %" PRId64 " parts", n_parts,
                          wanted);
    int weights = number_of(mesh, part, n_parts, err); /* sizes are then small enough to add up */
    if (weights < 0)
        return false;
    for (int i = 0; i < n_parts; i++)
        total += part[i];
    if (total != size)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "the sizes add up to %" PRId64 ", but what is sharded has %" PRId64
                          " elements",
                          total, size);
    out->digit[0].weights = (uint8_t)weights;
    cut_canonical(out, mesh);
    return true;
}
