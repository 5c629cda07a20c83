#include "core/fuse/fuse.h"

#include "core/base/nearest.h"

const Fusion fusions[] = {
    {"attention", "MatMul, scale, mask, Softmax, MatMul become Attention: scores take no memory",
     fuse_attention},
    {"tied", "a weight with the elements of an embedding is read from it: one parameter",
     fuse_tied},
    {"sequences",
     "a sequence of known length, or that a loop fills, becomes tensors, which can be sharded",
     fuse_sequences},
    {0},
};

bool fusions_parse(Str list, unsigned *out, Error *err)
{
    *out = 0;
    while (list.n > 0) {
        Str name = str_take(&list, ',');
        int i = 0;
        Nearest nearest = nearest_to(name, 4);
        for (; fusions[i].name && !str_eq(name, str_from(fusions[i].name)); i++)
            nearest_try(&nearest, fusions[i].name);
        if (!fusions[i].name) {
            error_kind(err, ERROR_USAGE, "there is no fusion '%.*s'", STR_ARG(name));
            error_hint(err, nearest.name ? "did you mean '%s'?" : "fusions: %s",
                       nearest.name ? nearest.name : fusions[0].name);
            return false;
        }
        *out |= 1u << i;
    }
    return true;
}

void fusions_format(unsigned set, Buf *out)
{
    const char *between = "";
    for (int i = 0; fusions[i].name; i++) {
        if (!(set & 1u << i))
            continue;
        buf_printf(out, "%s%s", between, fusions[i].name);
        between = ",";
    }
}
