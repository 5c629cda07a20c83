#include "core/layout/mesh.h"

#include <inttypes.h>

int64_t submesh_size(const Mesh *mesh, SubMesh sub)
{
    return mesh->n_devices / mesh_atoms_size(mesh, sub.fixed);
}

int64_t submesh_twin(const Mesh *mesh, SubMesh sub, int64_t position)
{
    for (int a = 0; a < mesh->n_atoms; a++)
        if (sub.fixed >> a & 1)
            position += (mesh_atom_coord(mesh, a, sub.first) - mesh_atom_coord(mesh, a, position)) *
                        mesh->atoms[a].stride;
    return position;
}

bool submesh_has(const Mesh *mesh, SubMesh sub, int64_t position)
{
    for (int a = mesh->n_atoms - 1; a >= 0; a--) {
        if (!(sub.fixed >> a & 1))
            continue;
        int64_t stride = mesh->atoms[a].stride, size = mesh->atoms[a].size;
        for (; a > 0 && sub.fixed >> (a - 1) & 1 && mesh->atoms[a - 1].stride == stride * size; a--)
            size *= mesh->atoms[a - 1].size; /* one coordinate */
        if (position / stride % size != sub.first / stride % size)
            return false;
    }
    return true;
}

static AtomSet all_atoms(const Mesh *mesh)
{
    return mesh->n_atoms == 0 ? 0 : ~(AtomSet)0 >> (32 - mesh->n_atoms);
}

AtomSet submesh_free(const Mesh *mesh, SubMesh sub)
{
    return all_atoms(mesh) & ~sub.fixed;
}

int64_t submesh_position(const Mesh *mesh, SubMesh sub, int64_t i)
{
    return mesh_group_member(mesh, submesh_free(mesh, sub), sub.first, i);
}

bool submesh_overlaps(const Mesh *mesh, SubMesh a, SubMesh b)
{
    SubMesh both = {a.fixed & b.fixed, a.first};
    return submesh_has(mesh, both, b.first);
}

bool submesh_contains(const Mesh *mesh, SubMesh a, SubMesh b)
{
    return (a.fixed & ~b.fixed) == 0 && submesh_has(mesh, a, b.first);
}

bool submesh_of_positions(const Mesh *mesh, const int64_t *position, int64_t n, SubMesh *out)
{
    if (n < 1)
        return false;
    SubMesh sub = {all_atoms(mesh), (int32_t)position[0]};
    for (int64_t i = 1; i < n; i++)
        for (int a = 0; a < mesh->n_atoms; a++)
            if (mesh_atom_coord(mesh, a, position[i]) != mesh_atom_coord(mesh, a, position[0]))
                sub.fixed &= ~((AtomSet)1 << a);
    for (int a = 0; a < mesh->n_atoms; a++)
        if (!(sub.fixed >> a & 1))
            sub.first -= (int32_t)(mesh_atom_coord(mesh, a, sub.first) * mesh->atoms[a].stride);
    *out = sub;
    return submesh_size(mesh, sub) == n; /* each is in it, and none is there twice */
}

/* ---- texts ---- */

void submesh_format(const Mesh *mesh, SubMesh sub, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    int n = mesh_list_set(mesh, sub.fixed, atom);
    for (int i = 0, length; i < n; i += length) {
        int64_t size, coordinate = 0;
        length = mesh_atoms_run(mesh, atom + i, n - i, &size);
        for (int k = i; k < i + length; k++)
            coordinate =
                coordinate * mesh->atoms[atom[k]].size + mesh_atom_coord(mesh, atom[k], sub.first);
        buf_puts(out, i > 0 ? "," : "");
        mesh_format_atoms(mesh, atom + i, length, "", out);
        buf_printf(out, "=%" PRId64, coordinate);
    }
}

/* The atoms of one reference get the digits of the coordinate, major first. */
static bool fix_atoms(const Mesh *mesh, Str name, const uint8_t *atom, int n, int64_t coordinate,
                      SubMesh *sub, Error *err)
{
    int64_t size = 1;
    for (int i = 0; i < n; i++)
        size *= mesh->atoms[atom[i]].size;
    if (coordinate < 0 || coordinate >= size) {
        error_kind(err, ERROR_OUT_OF_RANGE, "'%.*s' has no coordinate %" PRId64, STR_ARG(name),
                   coordinate);
        error_hint(err, "its coordinates are 0 to %" PRId64, size - 1);
        return false;
    }
    for (int i = n - 1; i >= 0; i--) {
        const MeshAtom *at = &mesh->atoms[atom[i]];
        if (sub->fixed >> atom[i] & 1)
            return error_kind(err, ERROR_CONFLICT, "'%.*s' is given a coordinate twice",
                              STR_ARG(name));
        sub->fixed |= (AtomSet)1 << atom[i];
        sub->first += (int32_t)(coordinate % at->size * at->stride);
        coordinate /= at->size;
    }
    return true;
}

bool submesh_fix(const Mesh *mesh, Str name, int64_t coordinate, SubMesh *sub, Error *err)
{
    Source source = {"sub-mesh", name};
    Scan scan = scan_begin(&source, err);
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    return mesh_parse_atoms(mesh, &scan, atom, &n) && scan_end(&scan) &&
           fix_atoms(mesh, name, atom, n, coordinate, sub, err);
}

bool submesh_parse(const Mesh *mesh, const Source *source, SubMesh *out, Error *err)
{
    Scan scan = scan_begin(source, err);
    SubMesh sub = {0};
    while (scan_peek(&scan) != '\0') {
        uint8_t atom[ATOMS_MAX];
        int n = 0;
        int64_t coordinate;
        size_t from = scan.at;
        if (!mesh_parse_atoms(mesh, &scan, atom, &n))
            return false;
        Str name = str_trim((Str){source->text.s + from, scan.at - from});
        if (!scan_char(&scan, '=') || !scan_int(&scan, &coordinate) ||
            !fix_atoms(mesh, name, atom, n, coordinate, &sub, err) ||
            (scan_peek(&scan) != '\0' && !scan_char(&scan, ',')))
            return false;
    }
    *out = sub;
    return true;
}
