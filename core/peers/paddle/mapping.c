#include "core/peers/paddle/mapping.h"

int32_t mapping_put(Intern *mappings, const SpmdAxes *dim, int n_dims)
{
    SpmdAxes clean[DIMS_MAX];
    memset(clean, 0, sizeof clean);
    for (int d = 0; d < n_dims; d++) {
        clean[d].n = dim[d].n;
        memcpy(clean[d].axis, dim[d].axis, dim[d].n);
    }
    return intern_put(mappings, clean, (size_t)n_dims * sizeof *clean);
}

int32_t mapping_whole(Intern *mappings, int n_dims)
{
    SpmdAxes dim[DIMS_MAX] = {{0}};
    return mapping_put(mappings, dim, n_dims);
}

SpmdMapping mapping_at(const Intern *mappings, int32_t id)
{
    size_t n_bytes;
    const SpmdAxes *dim = intern_key(mappings, id, &n_bytes);
    return (SpmdMapping){(int)(n_bytes / sizeof *dim), dim};
}

bool mapping_is_valid(const SpmdAxes *dim, int n_dims)
{
    unsigned used = 0;
    for (int d = 0; d < n_dims; d++)
        for (int i = 0; i < dim[d].n; i++) {
            if (used >> dim[d].axis[i] & 1)
                return false;
            used |= 1u << dim[d].axis[i];
        }
    return true;
}

int32_t mapping_compatible(Intern *mappings, int32_t a, int32_t b)
{
    if (a == b || a == MAPPING_NONE || b == MAPPING_NONE)
        return a == MAPPING_NONE ? b : a;
    SpmdMapping one = mapping_at(mappings, a), other = mapping_at(mappings, b);
    SpmdAxes dim[DIMS_MAX];
    if (one.n_dims != other.n_dims)
        return MAPPING_NONE;
    for (int d = 0; d < one.n_dims; d++) {
        if (one.dim[d].n > 0 && other.dim[d].n > 0 && !spmd_axes_equal(&one.dim[d], &other.dim[d]))
            return MAPPING_NONE;
        dim[d] = one.dim[d].n > 0 ? one.dim[d] : other.dim[d];
    }
    return mapping_put(mappings, dim, one.n_dims);
}

void mapping_drop_second_uses(SpmdAxes *dim, int n_dims)
{
    unsigned used = 0;
    for (int d = 0; d < n_dims; d++) {
        SpmdAxes kept = {0};
        for (int i = 0; i < dim[d].n; i++) {
            if (!(used >> dim[d].axis[i] & 1))
                spmd_axes_push(&kept, dim[d].axis[i]);
            used |= 1u << dim[d].axis[i];
        }
        dim[d] = kept;
    }
}

int32_t mapping_cleaned(Intern *mappings, int32_t id)
{
    SpmdAxes dim[DIMS_MAX];
    SpmdMapping mapping = mapping_at(mappings, id);
    if (mapping_is_valid(mapping.dim, mapping.n_dims))
        return id;
    memcpy(dim, mapping.dim, (size_t)mapping.n_dims * sizeof *dim);
    mapping_drop_second_uses(dim, mapping.n_dims);
    return mapping_put(mappings, dim, mapping.n_dims);
}
