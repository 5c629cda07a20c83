/* mesh.h - the devices as a grid with named axes.
 *
 * The mesh "dp=2,tp=4" has 8 devices. The last axis varies fastest, so position 5 has coordinates
 * dp=1, tp=1. `devices` gives the device at each position (NULL: position i is device i).
 *
 * Every axis is also split into its prime parts, major first (tp=8 is 2,2,2): each is an *atom*. A
 * cut is a list of atoms, so a sub-axis like Shardy's tp:(1)4 needs no special case. Atoms are
 * numbered over the whole mesh, in axis order; an axis of size 1 has none.
 *
 * Invariants (mesh_add_axis is the only writer): axis names are unique, sizes are at least 1,
 * n_devices is the product of the sizes and at most MESH_DEVICES_MAX.
 */
#ifndef CORE_LAYOUT_MESH_H
#define CORE_LAYOUT_MESH_H

#include "core/base/json.h"
#include "core/base/scan.h"

enum { MESH_AXES_MAX = 8, MESH_DEVICES_MAX = 1 << 20, ATOMS_MAX = 20 };

typedef uint32_t AtomSet; /* bit i: atom i */

typedef struct {
    const char *name;
    int64_t size;
    int atom, n_atoms; /* first atom of it */
} MeshAxis;

typedef struct {
    int axis;
    int64_t size;   /* a prime */
    int64_t pre;    /* product of the axis's more major atoms: tp:(pre)size */
    int64_t stride; /* positions between neighbours along the atom */
} MeshAtom;

typedef struct Weights Weights; /* weights.h */

typedef struct {
    MeshAxis axes[MESH_AXES_MAX]; /* major to minor */
    MeshAtom atoms[ATOMS_MAX];
    int n_axes, n_atoms;
    int64_t n_devices;
    const int32_t
        *devices;     /* by position, or NULL; a mesh without axes keeps the one it is given */
    Weights *weights; /* of the parts of its cuts that have unlike sizes */
} Mesh;

/* A part of the mesh: the positions that have given coordinates on some atoms. The whole mesh
 * fixes none. */
typedef struct {
    AtomSet fixed;
    int32_t first; /* the position in it whose other coordinates are 0 */
} SubMesh;

Mesh *mesh_new(Arena *arena);
bool mesh_add_axis(Mesh *mesh, Arena *arena, Str name, int64_t size, Error *err);

/* Reads "dp=2, tp=4", "[[0,1],[2,3]]" (axes x0, x1) or "dp,tp=[[0,1],[2,3]]". Nested lists must be
 * rectangular and name each device once. Returns NULL with the place in *err. */
Mesh *mesh_parse(Arena *arena, const Source *source, Error *err);

/* Reads {"axes": [["x",2],["y",4]], "devices": [..]}, the form of the eval protocol. */
Mesh *mesh_from_json(Arena *arena, const Json *value, Error *err);

/* The text mesh_parse() reads back to an equal mesh: "dp=2,tp=4". */
void mesh_format(const Mesh *mesh, Buf *out);

/* Appends the axis's name, marked as SPAN_AXIS: all texts for people name axes with it. */
void mesh_put_axis(const Mesh *mesh, int axis, Buf *out);
/* "dp 0, tp 1": the position's coordinates on these axes (bit i: axis i). equals: between a name
 * and its coordinate; between: between axes. */
void mesh_format_coords(const Mesh *mesh, uint32_t axes, int64_t position, const char *equals,
                        const char *between, Buf *out);

int mesh_find_axis(const Mesh *mesh, Str name);             /* index, or -1 */
int mesh_need_axis(const Mesh *mesh, Str name, Error *err); /* the same; the error suggests a name
                                                             */
int64_t mesh_coord(const Mesh *mesh, int axis, int64_t position);
static inline int64_t mesh_atom_coord(const Mesh *mesh, int atom, int64_t position)
{
    return position / mesh->atoms[atom].stride % mesh->atoms[atom].size;
}
static inline int64_t mesh_device(const Mesh *mesh, int64_t position)
{
    return mesh->devices ? mesh->devices[position] : position;
}

/* Returns whether the position's coordinates on all these atoms are 0. */
bool mesh_stands_first(const Mesh *mesh, AtomSet atoms, int64_t position);

AtomSet mesh_axis_atoms(const Mesh *mesh, int axis);
/* The index of a position among those that differ in these atoms. */
int64_t mesh_atoms_coord(const Mesh *mesh, AtomSet atoms, int64_t position);
int64_t mesh_atoms_size(const Mesh *mesh, AtomSet atoms); /* product of sizes */

/* The position of a group's first member, and the number of members: groups of `atoms` are the
 * positions that differ in those atoms only, ordered by them, major first. */
int64_t mesh_group_member(const Mesh *mesh, AtomSet atoms, int64_t position, int64_t i);
/* The index of the position's group among these, from 0. */
int64_t mesh_group_number(const Mesh *mesh, AtomSet atoms, int64_t position);

/* ---- sub-meshes ---- */

static inline bool submesh_equal(SubMesh a, SubMesh b)
{
    return a.fixed == b.fixed && a.first == b.first;
}

int64_t submesh_size(const Mesh *mesh, SubMesh sub); /* devices */
AtomSet submesh_free(const Mesh *mesh, SubMesh sub); /* atoms along which it has several positions
                                                      */
/* The position in the sub-mesh with the coordinates that `position` has on the free atoms. */
int64_t submesh_twin(const Mesh *mesh, SubMesh sub, int64_t position);
bool submesh_has(const Mesh *mesh, SubMesh sub, int64_t position);
int64_t submesh_position(const Mesh *mesh, SubMesh sub, int64_t i); /* the i-th, in mesh order */
bool submesh_overlaps(const Mesh *mesh, SubMesh a, SubMesh b);
bool submesh_contains(const Mesh *mesh, SubMesh a, SubMesh b); /* all of b is in a */

/* The sub-mesh of these n positions, in any order, each once; returns false if they are not one. */
bool submesh_of_positions(const Mesh *mesh, const int64_t *position, int64_t n, SubMesh *out);

/* "pp=0", "pp=1,dp:(1)2=0", "" for the whole mesh: neighbours of one axis as one reference, its
 * coordinate major first. submesh_parse() reads it back. */
void submesh_format(const Mesh *mesh, SubMesh sub, Buf *out);
bool submesh_parse(const Mesh *mesh, const Source *source, SubMesh *out, Error *err);
/* Adds that the axis, or the part of one that `name` refers to, has that coordinate. */
bool submesh_fix(const Mesh *mesh, Str name, int64_t coordinate, SubMesh *sub, Error *err);

/* How many atoms from atom[0] on are one part of one axis, and the size of that part. n >= 1. */
int mesh_atoms_run(const Mesh *mesh, const uint8_t *atom, int n, int64_t *size);

/* "tp", "dp.tp", "tp:(1)2": a list of atoms as axis references, neighbours of one axis joined. */
void mesh_format_atoms(const Mesh *mesh, const uint8_t *atom, int n, const char *between, Buf *out);

/* ":(1)2" after an axis, marked as SPAN_PART; nothing if the size is the whole axis. */
void mesh_put_part(const Mesh *mesh, const MeshAtom *first, int64_t size, Buf *out);
/* "dp=2, tp=4": the axes that have any of the atoms. */
void mesh_format_sizes(const Mesh *mesh, AtomSet atoms, Buf *out);

/* The same of a set, in mesh order; its atoms, of which there are at most ATOMS_MAX. */
void mesh_format_set(const Mesh *mesh, AtomSet atoms, const char *between, Buf *out);
int mesh_list_set(const Mesh *mesh, AtomSet atoms, uint8_t *atom);

/* Reads "tp" or "tp:(1)2" and appends its atoms to atom[ATOMS_MAX]. Returns false if there is no
 * such axis (with the nearest name as a hint), if the sub-axis is not a run of prime parts, or
 * with ERROR_CONFLICT if an atom is in the list already. */
bool mesh_parse_atoms(const Mesh *mesh, Scan *scan, uint8_t *atom, int *n);

/* The same after the name of the axis: nothing, or ":(1)2". The caller sets the place of the
 * error. */
bool mesh_parse_part(const Mesh *mesh, int axis, Scan *scan, uint8_t *atom, int *n);

#define mesh_each_axis(it, mesh)                                                                   \
    for (const MeshAxis *it = (mesh)->axes; it < (mesh)->axes + (mesh)->n_axes; it++)

#endif
