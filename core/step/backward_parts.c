/* backward_parts.c - gradients of a parameter that several parts of the mesh hold. */
#include "core/step/deriving.h"

static int32_t part_of(const Deriving *d, const Addend *addend)
{
    const int32_t *part = d->request->shape.part;
    return part && addend->of >= 0 ? part[addend->of] : -1;
}

bool derive_is_held_twice(const Deriving *d, int32_t tensor)
{
    int32_t first = d->addend[tensor];
    for (int32_t a = first; a >= 0; a = d->addends.at[a].next)
        if (part_of(d, &d->addends.at[a]) != part_of(d, &d->addends.at[first]))
            return true;
    return false;
}

/* The gradients of one part's readers, in the order in which they are made; returns the reader that
 * the model has first. */
static int32_t addends_on(const Deriving *d, int32_t tensor, int32_t part, Vec32 *out)
{
    int32_t reader = -1;
    for (int32_t a = d->addend[tensor]; a >= 0; a = d->addends.at[a].next) {
        const Addend *addend = &d->addends.at[a];
        if (part_of(d, addend) != part)
            continue;
        reader = reader < 0 ? addend->of : reader;
        vec_push(d->scratch, out, addend->tensor);
    }
    for (int i = 0; i < out->n / 2; i++) {
        int32_t last = out->at[out->n - 1 - i];
        out->at[out->n - 1 - i] = out->at[i];
        out->at[i] = last;
    }
    return reader;
}

static bool is_new_part(const Deriving *d, int32_t tensor, int32_t addend)
{
    int32_t a = d->addend[tensor];
    while (a != addend && part_of(d, &d->addends.at[a]) != part_of(d, &d->addends.at[addend]))
        a = d->addends.at[a].next;
    return a == addend;
}

int32_t derive_sum_parts(Deriving *d, int32_t tensor)
{
    int n = 0;
    int32_t first = -1;
    for (int32_t a = d->addend[tensor]; a >= 0; a = d->addends.at[a].next) {
        Vec32 own = {0};
        if (!is_new_part(d, tensor, a))
            continue;
        int32_t reader = addends_on(d, tensor, part_of(d, &d->addends.at[a]), &own);
        const char *end = arena_printf(d->scratch, "~part%d", n);
        int32_t sum = own.n == 1 ? own.at[0] : derive_sum(d, tensor, end, &own, reader);
        first = n == 0 ? sum : first;
        vec_push(d->arena, &d->parts_of, ((GradientPart){tensor, sum, reader, n++}));
    }
    return first;
}
