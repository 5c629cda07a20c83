#include "scripts/lua_legal.h"

#include <inttypes.h>

static bool lacks_hint(const Error *err)
{
    return err && error_is_set(err) && err->hint[0] == '\0';
}

static bool can_be_cut(const OpSpace *space, int index)
{
    return space->index[index].role != ROLE_FROZEN;
}

void legal_put_axes(const Mesh *mesh, AtomSet used, const char *before, Buf *out)
{
    int n = 0;
    mesh_each_axis (axis, mesh) {
        if (mesh_axis_atoms(mesh, (int)(axis - mesh->axes)) & used)
            continue;
        buf_printf(out, "%s%s=%" PRId64, n++ > 0 ? ", " : before, axis->name, axis->size);
    }
    if (n == 0)
        buf_printf(out, "%snone", before);
}

bool legal_about(Error *err, const char *what)
{
    Error about = err ? *err : (Error){0};
    if (!err)
        return false;
    about.text[0] = '\0'; /* the first text stays otherwise */
    error_kind(&about, err->kind, "%s: %s", what, err->text);
    *err = about;
    return false;
}

bool legal_index_dims(const Policy *policy, int32_t op, Error *err)
{
    const OpSpace *space = inferred_space(policy->session->inferred, op);
    Buf text = buf_new(policy->arena);
    if (!lacks_hint(err))
        return false;
    for (int i = 0; space && i < space->n_index; i++)
        if (can_be_cut(space, i))
            buf_printf(&text, "%s%s %" PRId64, text.n > 0 ? ", " : "", space->index[i].name,
                       space->index[i].size);
    return error_hint(err, "index dims that can be sharded: %s", text.n > 0 ? text.s : "none");
}

bool legal_dims(const Policy *policy, int32_t tensor, Error *err)
{
    const Shape *shape = inferred_shape(policy->session->inferred, tensor);
    Buf text = buf_new(policy->arena);
    if (!lacks_hint(err))
        return false;
    for (int d = 0; shape && d < shape->n_dims; d++)
        buf_printf(&text, "%s%d of %" PRId64, d > 0 ? ", " : "", d, shape->dim[d]);
    return error_hint(err, "its dims: %s; -1 is the last", text.n > 0 ? text.s : "none");
}

bool legal_axes(const Mesh *mesh, Error *err)
{
    if (!err || !error_is_set(err))
        return false;
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    buf_puts(&text, err->hint);
    legal_put_axes(mesh, 0, text.n > 0 ? " the mesh has " : "the mesh has ", &text);
    err->hint[0] = '\0'; /* a hint stays otherwise */
    error_hint(err, "%s", text.s);
    arena_free(arena);
    return false;
}
