#include "core/layout/json_read.h"

bool json_read_ints(const Json *list, const char *what, int n_max, int64_t *out, int *n, Error *err)
{
    *n = json_size(list);
    if (!json_is_array(list) || *n > n_max)
        return error_set(err, "%s is a list of at most %d numbers", what, n_max);
    for (int i = 0; i < *n; i++) {
        if (!json_is_int(json_at(list, i)))
            return error_set(err, "%s is a list of whole numbers", what);
        out[i] = json_int(json_at(list, i), 0);
    }
    return true;
}

bool json_read_shape(const Json *list, Shape *out, Error *err)
{
    int n;
    *out = (Shape){0};
    if (!json_read_ints(list, "shape", DIMS_MAX, out->dim, &n, err))
        return false;
    out->n_dims = n;
    return shape_check(out, err);
}

bool json_read_placements(const Json *list, const Mesh *mesh, int64_t n_dims, Placement *out,
                          Error *err)
{
    if (!json_is_array(list) || json_size(list) != mesh->n_axes)
        return error_set(err, "one placement for each of the %d axes of the mesh", mesh->n_axes);
    for (int i = 0; i < mesh->n_axes; i++) {
        Source source = {"placement", json_str(json_at(list, i), "")};
        Scan scan = scan_begin(&source, err);
        if (!placement_scan(&scan, n_dims, &out[i]) || !scan_end(&scan))
            return false;
    }
    return true;
}

bool json_read_dtype(const Json *name, Dtype *out, Error *err)
{
    *out = name ? dtype_from_name(json_str(name, "")) : DT_F32;
    return *out != DT_NONE ||
           error_kind(err, ERROR_DTYPE, "'%.*s' is no element type", STR_ARG(json_str(name, "")));
}
