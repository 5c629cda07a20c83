#include "core/peers/shardy/axis_ref.h"

#include <assert.h>
#include <inttypes.h>

AxisRef axis_ref_whole(const Mesh *mesh, int axis)
{
    return (AxisRef){axis, 1, (int)mesh->axes[axis].size};
}

bool axis_ref_is_whole(const AxisRef *ref, const Mesh *mesh)
{
    return ref->size == mesh->axes[ref->axis].size;
}

bool axis_ref_equal(const AxisRef *a, const AxisRef *b)
{
    return a->axis == b->axis && a->pre == b->pre && a->size == b->size;
}

/* `pre` of a part that directly follows this one. */
static int end_of(const AxisRef *ref)
{
    return ref->pre * ref->size;
}

bool axis_refs_overlap(const AxisRef *a, const AxisRef *b)
{
    return a->axis == b->axis &&
           (axis_ref_equal(a, b) || (a->pre < end_of(b) && b->pre < end_of(a)));
}

bool axis_ref_contains(const AxisRef *a, const AxisRef *b)
{
    return a->axis == b->axis && a->pre <= b->pre && end_of(a) >= end_of(b);
}

bool axis_ref_is_prefix(const AxisRef *a, const AxisRef *b)
{
    return a->pre == b->pre && axis_ref_contains(b, a);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int greatest(int a, int b)
{
    return a > b ? a : b;
}

bool axis_refs_can_coexist(const AxisRef *a, const AxisRef *b)
{
    if (a->axis != b->axis)
        return true;
    int from = least(a->pre, b->pre), later_from = greatest(a->pre, b->pre);
    int to = least(end_of(a), end_of(b)), later_to = greatest(end_of(a), end_of(b));
    if (to > later_from)
        return later_from % from == 0 && to % later_from == 0 && later_to % to == 0;
    return later_from % to == 0;
}

bool axis_ref_without(const AxisRef *a, const AxisRef *b, AxisRef *out)
{
    *out = *a;
    if (!axis_refs_can_coexist(a, b))
        return false;
    if (!axis_refs_overlap(a, b))
        return true;
    out->size = b->pre / a->pre;
    return a->pre < b->pre;
}

bool axis_ref_without_list(const AxisRef *a, const AxisList *list, AxisRef *out)
{
    AxisRef rest = *a;
    for (int i = 0; i < list->n; i++)
        if (!axis_ref_without(&rest, &list->at[i], &rest))
            return false;
    *out = rest;
    return true;
}

/* ---- lists ---- */

int64_t axis_list_size(const AxisList *list)
{
    int64_t size = 1;
    for (int i = 0; i < list->n; i++)
        size *= list->at[i].size;
    return size;
}

bool axis_list_equal(const AxisList *a, const AxisList *b)
{
    return a->n == b->n && memcmp(a->at, b->at, (size_t)a->n * sizeof a->at[0]) == 0;
}

bool axis_list_is_prefix(const AxisList *a, const AxisList *b)
{
    if (a->n == 0)
        return true;
    if (a->n > b->n)
        return false;
    for (int i = 0; i < a->n - 1; i++)
        if (!axis_ref_equal(&a->at[i], &b->at[i]))
            return false;
    return axis_ref_is_prefix(&a->at[a->n - 1], &b->at[a->n - 1]);
}

bool axis_list_is_strict_prefix(const AxisList *a, const AxisList *b)
{
    return axis_list_is_prefix(a, b) && !axis_list_equal(a, b);
}

void axis_list_add(AxisList *list, AxisRef ref)
{
    assert(list->n < AXIS_REFS_MAX);
    list->at[list->n++] = ref;
}

void axis_list_push(AxisList *list, const Mesh *mesh, AxisRef ref)
{
    AxisRef *last = list->n > 0 ? &list->at[list->n - 1] : NULL;
    if (last && last->axis == ref.axis && end_of(last) == ref.pre &&
        !axis_ref_is_whole(last, mesh) && !axis_ref_is_whole(&ref, mesh))
        last->size *= ref.size;
    else
        axis_list_add(list, ref);
}

static bool stands_before(const AxisRef *a, const AxisRef *b)
{
    return a->axis != b->axis ? a->axis < b->axis : a->pre < b->pre;
}

void axis_list_sort(AxisList *list)
{
    for (int i = 1; i < list->n; i++)
        for (int j = i; j > 0 && stands_before(&list->at[j], &list->at[j - 1]); j--) {
            AxisRef moved = list->at[j];
            list->at[j] = list->at[j - 1];
            list->at[j - 1] = moved;
        }
}

/* ---- meshes ---- */

bool meshes_same_axes(const Mesh *a, const Mesh *b)
{
    bool same = a->n_axes == b->n_axes;
    for (int i = 0; same && i < a->n_axes; i++)
        same = a->axes[i].size == b->axes[i].size && strcmp(a->axes[i].name, b->axes[i].name) == 0;
    return same;
}

bool meshes_same_devices(const Mesh *a, const Mesh *b)
{
    for (int64_t i = 0; i < a->n_devices; i++)
        if (mesh_device(a, i) != mesh_device(b, i))
            return false;
    return true;
}

/* ---- text ---- */

void axis_ref_format(const Mesh *mesh, const AxisRef *ref, Buf *out)
{
    buf_puts(out, mesh->axes[ref->axis].name);
    if (!axis_ref_is_whole(ref, mesh))
        buf_printf(out, ":(%d)%d", ref->pre, ref->size);
}

/* "(2)4" of an axis: its borders divide the axis, and it is neither the whole axis nor of size
 * 1. */
static bool parse_part(const MeshAxis *axis, Str text, AxisRef *out, Error *err)
{
    int64_t pre, size;
    Str rest = text;
    if (!str_starts(text, STR("(")))
        return error_kind(err, ERROR_SYNTAX, "'%.*s' is not a part of an axis; write it as (2)4",
                          STR_ARG(text));
    rest.s++, rest.n--;
    Str before = str_take(&rest, ')');
    if (!str_to_int(before, &pre) || !str_to_int(rest, &size))
        return error_kind(err, ERROR_SYNTAX, "'%.*s' is not a part of an axis; write it as (2)4",
                          STR_ARG(text));
    if (pre < 1 || size < 2 || pre > axis->size || size > axis->size / pre ||
        axis->size % (pre * size) != 0 || size == axis->size)
        return error_kind(err, ERROR_INVALID, "axis '%s' of size %" PRId64 " has no part %.*s",
                          axis->name, axis->size, STR_ARG(text));
    out->pre = (int)pre;
    out->size = (int)size;
    return true;
}

bool axis_ref_parse(const Mesh *mesh, Str text, AxisRef *out, Error *err)
{
    Str rest = text, name = str_take(&rest, ':');
    int axis = mesh_need_axis(mesh, name, err);
    if (axis < 0)
        return false;
    *out = axis_ref_whole(mesh, axis);
    return name.n == text.n || parse_part(&mesh->axes[axis], rest, out, err);
}
