#include "core/plan/json_forms.h"

#include "core/layout/placement.h"

Json *json_of_mesh(const Mesh *mesh)
{
    Json *out = json_object(), *axes = json_array(), *devices = json_array();
    mesh_each_axis (axis, mesh) {
        Json *pair = json_array();
        json_add(pair, json_from_str(str_from(axis->name)));
        json_add(pair, json_from_int(axis->size));
        json_add(axes, pair);
    }
    for (int64_t i = 0; i < mesh->n_devices; i++)
        json_add(devices, json_from_int(mesh_device(mesh, i)));
    json_set(out, "axes", axes);
    json_set(out, "devices", devices);
    return out;
}

Json *json_of_shape(const Shape *shape)
{
    if (!shape)
        return json_null();
    Json *out = json_array();
    for (int64_t d = 0; d < shape->n_dims; d++)
        json_add(out, shape->dim[d] < 0 ? json_null() : json_from_int(shape->dim[d]));
    return out;
}

Json *json_of_atoms(const uint8_t *atom, int n, const Mesh *mesh)
{
    Json *out = json_array();
    Arena *scratch = arena_new();
    for (int i = 0, length; i < n; i += length) {
        int64_t size;
        length = mesh_atoms_run(mesh, atom + i, n - i, &size);
        Buf text = buf_new(scratch);
        mesh_format_atoms(mesh, atom + i, length, "", &text);
        json_add(out, json_from_str(buf_str(&text)));
    }
    arena_free(scratch);
    return out;
}

Json *json_of_atom_set(AtomSet atoms, const Mesh *mesh)
{
    uint8_t atom[ATOMS_MAX];
    return json_of_atoms(atom, mesh_list_set(mesh, atoms, atom), mesh);
}

/* The axes of a dim, major first. They describe the whole cut only if it has one digit. */
static Json *dim_axes(const Cut *cut, const Mesh *mesh, Buf *scratch)
{
    Sharding one = {.n_dims = 1, .dim = {*cut}};
    one = sharding_without_halo(&one);
    if (!sharding_format(&one, mesh, VIEW_SHARDY, scratch, NULL))
        return json_null();
    return json_of_atoms(cut->digit[0].atom, cut->n ? cut->digit[0].n : 0, mesh);
}

/* What a rank holds of a dim beside its part. */
static Json *halo_of(int64_t dim, const Cut *cut)
{
    Json *out = json_object();
    json_set_int(out, "dim", dim);
    if (cut_is_ring(cut)) {
        json_set_int(out, "ring", cut->after);
        return out;
    }
    bool after = cut->after == CUT_CARRY;
    if (after || cut->before == CUT_CARRY) {
        json_set_str(out, "carry", after ? "after" : "before");
        return out;
    }
    json_set_int(out, "before", cut->before);
    json_set_int(out, "after", cut->after);
    if (cut->around)
        json_set_bool(out, "around", true);
    return out;
}

static Json *halos_of(const Sharding *sharding)
{
    Json *out = json_array();
    for (int64_t d = 0; d < sharding->n_dims; d++)
        if (cut_has_halo(&sharding->dim[d]))
            json_add(out, halo_of(d, &sharding->dim[d]));
    return out;
}

Json *json_of_sharding(const Sharding *sharding, const Mesh *mesh)
{
    Arena *scratch = arena_new();
    Buf text = buf_new(scratch), unused = buf_new(scratch);
    Json *out = json_object(), *dims = json_array();
    for (int64_t d = 0; d < sharding->n_dims; d++)
        json_add(dims, dim_axes(&sharding->dim[d], mesh, &unused));
    json_set(out, "dims", dims);
    if (sharding_has_halo(sharding))
        json_set(out, "halo", halos_of(sharding));
    AtomSet partials = sharding_partials(sharding);
    if (partials)
        json_set(out, "unreduced", json_of_atom_set(partials, mesh));
    sharding_format(sharding, mesh, VIEW_OURS, &text, NULL);
    json_set(out, "text", json_from_str(buf_str(&text)));
    arena_free(scratch);
    return out;
}

/* The two parts of the dims_mapping view are printed as JSON already. */
static Json *read_back(const Buf *text)
{
    Source source = {.name = "", .text = buf_str(text)};
    return json_parse(&source, NULL);
}

Json *json_of_dims_mapping(const Sharding *sharding, const Mesh *mesh)
{
    Arena *scratch = arena_new();
    Buf text = buf_new(scratch);
    Sharding cuts = sharding_without_partial(sharding);
    bool can = sharding_format(&cuts, mesh, VIEW_DIMS_MAPPING, &text, NULL);
    Json *out = can ? read_back(&text) : json_null();
    arena_free(scratch);
    return out;
}

Json *json_of_partial(const Sharding *sharding, const Mesh *mesh)
{
    Arena *scratch = arena_new();
    Buf text = buf_new(scratch);
    bool can = sharding_format_partial(sharding, mesh, &text, NULL);
    Json *out = can ? read_back(&text) : json_null();
    arena_free(scratch);
    return out;
}

Json *json_of_placements(const Sharding *sharding, const Mesh *mesh)
{
    Placement placement[MESH_AXES_MAX];
    if (!placements_of(sharding, mesh, placement, NULL))
        return json_null();
    Arena *scratch = arena_new();
    Json *out = json_array();
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        Buf text = buf_new(scratch);
        placement_format(&placement[axis], false, &text);
        json_add(out, json_from_str(buf_str(&text)));
    }
    arena_free(scratch);
    return out;
}

Json *json_of_step(const Step *step, const Mesh *mesh)
{
    Json *out = json_object();
    json_set_str(out, "kind", step_kind_name(step->kind));
    json_set(out, "axes", json_of_atom_set(step->atoms, mesh));
    json_set_int(out, "bytes", step->bytes);
    json_set_int(out, "wire_bytes", step->wire_bytes);
    json_set_real(out, "us", step->us);
    return out;
}

Json *json_of_finding(const Finding *finding)
{
    Json *out = json_object();
    json_set_str(out, "level", level_name(finding->level));
    json_set_str(out, "code", finding->code);
    json_set_str(out, "text", finding->text);
    json_set_str(out, "hint", finding->hint ? finding->hint : "");
    json_set(out, "file", finding->file ? json_from_str(str_from(finding->file)) : json_null());
    json_set_int(out, "line", finding->line);
    if (finding->column > 0)
        json_set_int(out, "column", finding->column);
    return out;
}

Json *json_of_findings(const Findings *findings)
{
    Json *out = json_array();
    for (int i = 0; i < findings->n; i++)
        json_add(out, json_of_finding(&findings->at[i]));
    return out;
}
