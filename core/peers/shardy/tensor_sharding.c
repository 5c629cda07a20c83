#include "core/peers/shardy/tensor_sharding.h"

TensorSharding tensor_sharding_open(int n_dims)
{
    TensorSharding sharding = {.n_dims = n_dims, .mesh = MESH_NONE};
    for (int d = 0; d < n_dims; d++)
        sharding.dim[d] = (DimSharding){.open = true, .priority = PRIORITY_NONE};
    return sharding;
}

static bool dim_equal(const DimSharding *a, const DimSharding *b)
{
    return a->open == b->open && a->priority == b->priority && axis_list_equal(&a->axes, &b->axes);
}

bool tensor_sharding_equal(const TensorSharding *a, const TensorSharding *b)
{
    if (a->n_dims != b->n_dims || a->mesh != b->mesh || a->shape != b->shape)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (!dim_equal(&a->dim[d], &b->dim[d]))
            return false;
    return axis_list_equal(&a->replicated, &b->replicated) &&
           axis_list_equal(&a->unreduced, &b->unreduced);
}

bool tensor_sharding_uses_axes(const TensorSharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++)
        if (sharding->dim[d].axes.n > 0)
            return true;
    return sharding->replicated.n > 0 || sharding->unreduced.n > 0;
}

/* ---- bytes ---- */

static void pack_int(int value, Buf *out)
{
    buf_add(out, (Str){(const char *)&value, sizeof value});
}

static void pack_list(const AxisList *list, Buf *out)
{
    pack_int(list->n, out);
    buf_add(out, (Str){(const char *)list->at, (size_t)list->n * sizeof list->at[0]});
}

void tensor_sharding_pack(const TensorSharding *sharding, Buf *out)
{
    pack_int(sharding->n_dims, out);
    pack_int(sharding->mesh, out);
    pack_int(sharding->shape, out);
    for (int d = 0; d < sharding->n_dims; d++) {
        pack_int(sharding->dim[d].open, out);
        pack_int(sharding->dim[d].priority, out);
        pack_list(&sharding->dim[d].axes, out);
    }
    pack_list(&sharding->replicated, out);
    pack_list(&sharding->unreduced, out);
}

/* ---- JSON ---- */

typedef struct {
    const Mesh *mesh;
    AxisList seen; /* all axes read so far */
    Error *err;
} JsonReader;

static bool check_free(JsonReader *reader, const AxisRef *ref, Str text)
{
    for (int i = 0; i < reader->seen.n; i++) {
        if (!axis_refs_can_coexist(ref, &reader->seen.at[i]))
            return error_kind(reader->err, ERROR_INVALID,
                              "'%.*s' overlaps another part of its axis", STR_ARG(text));
        if (axis_refs_overlap(ref, &reader->seen.at[i]))
            return error_kind(reader->err, ERROR_INVALID, "axis '%.*s' is used twice",
                              STR_ARG(text));
    }
    return true;
}

static bool read_axes(JsonReader *reader, const Json *value, AxisList *out)
{
    out->n = 0;
    if (value && !json_is_null(value) && !json_is_array(value))
        return error_set(reader->err, "axes must be a list of names");
    for (int i = 0; i < json_size(value); i++) {
        Str text = json_str(json_at(value, i), "");
        AxisRef ref;
        if (!axis_ref_parse(reader->mesh, text, &ref, reader->err) ||
            !check_free(reader, &ref, text))
            return false;
        axis_list_add(&reader->seen, ref);
        int n = out->n;
        axis_list_push(out, reader->mesh, ref);
        if (out->n == n)
            return error_kind(reader->err, ERROR_INVALID,
                              "'%.*s' continues the axis before it: write them as one",
                              STR_ARG(text));
    }
    return true;
}

static bool read_priority(JsonReader *reader, const Json *value, DimSharding *dim)
{
    dim->priority = PRIORITY_NONE;
    if (!value || json_is_null(value))
        return true;
    int64_t priority = json_int(value, -1);
    if (!json_is_int(value) || priority < 0 || priority > INT32_MAX)
        return error_set(reader->err, "a priority must be null or a number from 0");
    if (!dim->open && dim->axes.n == 0)
        return error_set(reader->err, "a closed dim without axes cannot have a priority");
    dim->priority = (int)priority;
    return true;
}

static bool check_length(const Json *list, int n_dims, const char *what, Error *err)
{
    if (!list || (json_is_array(list) && json_size(list) == n_dims))
        return true;
    return error_kind(err, ERROR_RANK, "the tensor has %d dims but \"%s\" has %d", n_dims, what,
                      json_size(list));
}

/* A whole tensor on one device: nothing may be listed. */
static bool read_maximal(const Json *value, TensorSharding *out, Error *err)
{
    static const char *const lists[] = {"dims", "open", "priority", "replicated", "unreduced"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (json_size(json_get(value, lists[i])) > 0)
            return error_kind(
                err, ERROR_RANK,
                "a sharding on one device lists no dims and no axes, but \"%s\" has %d", lists[i],
                json_size(json_get(value, lists[i])));
    for (int d = 0; d < out->n_dims; d++)
        out->dim[d].open = false;
    return true;
}

bool tensor_sharding_from_json(const Mesh *mesh, int n_dims, const Json *value, TensorSharding *out,
                               Error *err)
{
    *out = tensor_sharding_open(n_dims);
    if (!value || json_is_null(value))
        return true;
    const Json *dims = json_get(value, "dims"), *open = json_get(value, "open");
    const Json *priority = json_get(value, "priority");
    if (!json_is_object(value) || !dims)
        return error_set(err, "a sharding is an object with \"dims\"");
    out->mesh = 0;
    out->maximal = mesh->n_axes == 0 && mesh->devices;
    if (out->maximal)
        return read_maximal(value, out, err);
    if (!check_length(dims, n_dims, "dims", err) || !check_length(open, n_dims, "open", err) ||
        !check_length(priority, n_dims, "priority", err))
        return false;

    JsonReader reader = {.mesh = mesh, .err = err};
    for (int d = 0; d < n_dims; d++) {
        out->dim[d].open = json_bool(json_at(open, d), false);
        if (!read_axes(&reader, json_at(dims, d), &out->dim[d].axes) ||
            !read_priority(&reader, json_at(priority, d), &out->dim[d]))
            return false;
    }
    if (!read_axes(&reader, json_get(value, "replicated"), &out->replicated) ||
        !read_axes(&reader, json_get(value, "unreduced"), &out->unreduced))
        return false;
    axis_list_sort(&out->replicated);
    axis_list_sort(&out->unreduced);
    return true;
}

Json *axis_list_to_json(Arena *arena, const Mesh *mesh, const AxisList *list)
{
    Json *out = json_array();
    for (int i = 0; i < list->n; i++) {
        Buf text = buf_new(arena);
        axis_ref_format(mesh, &list->at[i], &text);
        json_add(out, json_from_str(buf_str(&text)));
    }
    return out;
}

Json *tensor_sharding_to_json(Arena *arena, const Mesh *mesh, const TensorSharding *sharding)
{
    Json *out = json_object(), *dims = json_array(), *open = json_array(),
         *priorities = json_array();
    bool any_priority = false;
    for (int d = 0; d < sharding->n_dims && !sharding->maximal; d++) {
        const DimSharding *dim = &sharding->dim[d];
        json_add(dims, axis_list_to_json(arena, mesh, &dim->axes));
        json_add(open, json_from_bool(dim->open));
        any_priority |= dim->priority != PRIORITY_NONE;
        json_add(priorities,
                 dim->priority == PRIORITY_NONE ? json_null() : json_from_int(dim->priority));
    }
    json_set(out, "dims", dims);
    json_set(out, "open", open);
    if (any_priority)
        json_set(out, "priority", priorities);
    else
        json_free(priorities);
    json_set(out, "replicated", axis_list_to_json(arena, mesh, &sharding->replicated));
    json_set(out, "unreduced", axis_list_to_json(arena, mesh, &sharding->unreduced));
    return out;
}

/* ---- layouts of plans ---- */

bool axis_ref_to_atoms(const AxisRef *ref, const Mesh *mesh, uint8_t *atom, int *n)
{
    int at = mesh->axes[ref->axis].atom, end = at + mesh->axes[ref->axis].n_atoms;
    int64_t product = 1;
    if (ref->size == 1)
        return true;
    while (at < end && mesh->atoms[at].pre != ref->pre)
        at++;
    while (at < end && product < ref->size && *n < ATOMS_MAX) {
        product *= mesh->atoms[at].size;
        atom[(*n)++] = (uint8_t)at++;
    }
    return product == ref->size;
}

void axis_list_from_atoms(const uint8_t *atom, int n, const Mesh *mesh, AxisList *out)
{
    out->n = 0;
    for (int i = 0, run; i < n; i += run) {
        int64_t size;
        run = mesh_atoms_run(mesh, atom + i, n - i, &size);
        const MeshAtom *first = &mesh->atoms[atom[i]];
        axis_list_push(out, mesh, (AxisRef){first->axis, (int)first->pre, (int)size});
    }
}

bool tensor_sharding_to_layout(const TensorSharding *sharding, const Shape *shape, const Mesh *mesh,
                               Sharding *out)
{
    *out = (Sharding){.n_dims = sharding->n_dims};
    uint8_t atom[ATOMS_MAX];
    for (int d = 0; d < sharding->n_dims; d++) {
        const AxisList *axes = &sharding->dim[d].axes;
        int n = 0;
        for (int i = 0; i < axes->n; i++)
            if (!axis_ref_to_atoms(&axes->at[i], mesh, atom, &n))
                return false;
        out->dim[d] = cut_by(shape->dim[d], atom, n, mesh);
    }
    int n = 0;
    for (int i = 0; i < sharding->unreduced.n; i++)
        if (!axis_ref_to_atoms(&sharding->unreduced.at[i], mesh, atom, &n))
            return false;
    for (int i = 0; i < n; i++)
        out->partial[atom[i]] = REDUCE_SUM;
    return true;
}
