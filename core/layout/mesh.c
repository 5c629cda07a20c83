#include "core/layout/mesh.h"

#include "core/base/span.h"
#include "core/base/vec.h"
#include "core/layout/weights.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>

/* ---- making ---- */

Mesh *mesh_new(Arena *arena)
{
    Mesh *mesh = arena_make(arena, Mesh);
    mesh->n_devices = 1;
    mesh->weights = weights_new(arena);
    return mesh;
}

static bool is_name(Str text)
{
    Error err = {0};
    Source source = {"", text};
    Scan scan = scan_begin(&source, &err);
    Str name;
    return scan_name(&scan, &name) && name.n == text.n;
}

/* Appends the prime parts of an axis, major first: 12 is 2,2,3. Sizes are at most 2^20, so that
 * there are never more than ATOMS_MAX. */
static void add_atoms(Mesh *mesh, int axis, int64_t size)
{
    int64_t stride = size, pre = 1;
    for (int64_t prime = 2; size > 1; prime = prime * prime > size ? size : prime + 1)
        for (; size % prime == 0; size /= prime) {
            stride /= prime;
            assert(mesh->n_atoms < ATOMS_MAX);
            mesh->atoms[mesh->n_atoms++] = (MeshAtom){axis, prime, pre, stride};
            pre *= prime;
        }
}

bool mesh_add_axis(Mesh *mesh, Arena *arena, Str name, int64_t size, Error *err)
{
    if (mesh->n_axes == MESH_AXES_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "a mesh has at most %d axes", MESH_AXES_MAX);
    if (!is_name(name))
        return error_set(err, "'%.*s' is not a name for an axis: use letters, digits and _",
                         STR_ARG(name));
    if (mesh_find_axis(mesh, name) >= 0)
        return error_kind(err, ERROR_DUPLICATE, "axis '%.*s' is in this mesh twice", STR_ARG(name));
    if (size < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "axis '%.*s' needs a size of 1 or more",
                          STR_ARG(name));
    if (size > MESH_DEVICES_MAX / mesh->n_devices)
        return error_kind(err, ERROR_OUT_OF_RANGE, "a mesh has at most %d devices",
                          MESH_DEVICES_MAX);

    for (int i = 0; i < mesh->n_atoms; i++)
        mesh->atoms[i].stride *= size;
    int axis = mesh->n_axes++;
    mesh->axes[axis] = (MeshAxis){arena_str(arena, name), size, mesh->n_atoms, 0};
    add_atoms(mesh, axis, size);
    mesh->axes[axis].n_atoms = mesh->n_atoms - mesh->axes[axis].atom;
    mesh->n_devices *= size;
    return true;
}

/* ---- reading ---- */

/* Nested lists of devices while they are read. */
typedef struct {
    Arena *arena;
    Scan *scan;
    int n_levels; /* -1 until the first device is reached */
    int64_t size[MESH_AXES_MAX];
    Vec(int32_t) devices;
    uint8_t seen[MESH_DEVICES_MAX / CHAR_BIT];
} DeviceLists;

/* Fails at the next token. */
static bool fail_here(Scan *scan, ErrorKind kind, const char *what)
{
    scan_peek(scan);
    error_kind(scan->err, kind, "%s", what);
    error_at(scan->err, scan->source, scan->at);
    return false;
}

static bool mark_device(DeviceLists *grid, int64_t device)
{
    uint8_t *byte = &grid->seen[device / CHAR_BIT];
    uint8_t bit = (uint8_t)(1u << (device % CHAR_BIT));
    bool fresh = !(*byte & bit);
    *byte |= bit;
    return fresh;
}

static bool parse_device(DeviceLists *grid, int level)
{
    if (grid->n_levels < 0)
        grid->n_levels = level;
    if (level != grid->n_levels)
        return fail_here(grid->scan, ERROR_INVALID, "the lists of devices are ragged");

    scan_peek(grid->scan);
    size_t at = grid->scan->at;
    int64_t device;
    if (!scan_int(grid->scan, &device))
        return false;
    if (device < 0 || device >= MESH_DEVICES_MAX)
        error_kind(grid->scan->err, ERROR_OUT_OF_RANGE, "devices are numbered 0 to %d",
                   MESH_DEVICES_MAX - 1);
    else if (!mark_device(grid, device))
        error_kind(grid->scan->err, ERROR_DUPLICATE, "device %" PRId64 " is in this mesh twice",
                   device);
    else {
        vec_push(grid->arena, &grid->devices, (int32_t)device);
        return true;
    }
    error_at(grid->scan->err, grid->scan->source, at);
    return false;
}

/* list = "[" item { "," item } "]"    item = list | device */
static bool parse_list(DeviceLists *grid, int level)
{
    if (scan_peek(grid->scan) != '[')
        return parse_device(grid, level);
    if (level == MESH_AXES_MAX)
        return fail_here(grid->scan, ERROR_OUT_OF_RANGE, "the lists are nested too deep");
    if (grid->n_levels == level)
        return fail_here(grid->scan, ERROR_INVALID, "the lists of devices are ragged");

    scan_accept(grid->scan, '[');
    int64_t n = 0;
    do {
        if (!parse_list(grid, level + 1))
            return false;
        n++;
    } while (scan_accept(grid->scan, ','));
    if (grid->size[level] == 0)
        grid->size[level] = n;
    if (grid->size[level] != n)
        return fail_here(grid->scan, ERROR_INVALID, "the lists of devices are ragged");
    return scan_char(grid->scan, ']');
}

static bool is_identity(const int32_t *devices, int n)
{
    for (int i = 0; i < n; i++)
        if (devices[i] != i)
            return false;
    return true;
}

/* Reads the lists and adds their levels as axes of these names; without names x0, x1 .. */
static bool parse_grid(Mesh *mesh, Arena *arena, Scan *scan, const Str *names, int n_names)
{
    DeviceLists *grid = arena_make(arena, DeviceLists);
    grid->arena = arena;
    grid->scan = scan;
    grid->n_levels = -1;
    if (!parse_list(grid, 0))
        return false;
    if (n_names > 0 && n_names != grid->n_levels) {
        error_kind(scan->err, ERROR_RANK, "%d names for lists nested %d deep", n_names,
                   grid->n_levels);
        scan_blame(scan, names[0]);
        return false;
    }
    for (int i = 0; i < grid->n_levels; i++) {
        Str name = n_names > 0 ? names[i] : str_from(arena_printf(arena, "x%d", i));
        if (!mesh_add_axis(mesh, arena, name, grid->size[i], scan->err)) {
            scan_blame(scan, name);
            return false;
        }
    }
    if (!is_identity(grid->devices.at, grid->devices.n))
        mesh->devices = grid->devices.at;
    return true;
}

/* axes = size { "," name "=" size }, after the first name and its "=" */
static bool parse_axes(Mesh *mesh, Arena *arena, Scan *scan, Str name)
{
    for (;;) {
        int64_t size;
        if (!scan_int(scan, &size))
            return false;
        if (!mesh_add_axis(mesh, arena, name, size, scan->err)) {
            scan_blame(scan, name);
            return false;
        }
        if (!scan_accept(scan, ','))
            return true;
        if (!scan_name(scan, &name) || !scan_char(scan, '='))
            return false;
    }
}

/* mesh = name "=" size { "," name "=" size } | [ name { "," name } "=" ] list */
static bool parse_any(Mesh *mesh, Arena *arena, Scan *scan)
{
    if (scan_peek(scan) == '[')
        return parse_grid(mesh, arena, scan, NULL, 0);

    Str names[MESH_AXES_MAX];
    int n = 0;
    do {
        if (n == MESH_AXES_MAX)
            return fail_here(scan, ERROR_OUT_OF_RANGE, "too many axes for one mesh");
        if (!scan_name(scan, &names[n++]))
            return false;
    } while (scan_accept(scan, ','));
    if (!scan_char(scan, '='))
        return false;
    if (n > 1 || scan_peek(scan) == '[')
        return parse_grid(mesh, arena, scan, names, n);
    return parse_axes(mesh, arena, scan, names[0]);
}

Mesh *mesh_parse(Arena *arena, const Source *source, Error *err)
{
    Error fallback = {0}; /* the scanner writes one in any case */
    Mesh *mesh = mesh_new(arena);
    Scan scan = scan_begin(source, err ? err : &fallback);
    if (parse_any(mesh, arena, &scan) && scan_end(&scan))
        return mesh;
    if (err && err->kind == ERROR_SYNTAX)
        error_hint(err, "a mesh is dp=2,tp=4 or lists of devices: dp,tp=[[0,1],[2,3]]");
    return NULL;
}

static bool read_devices(Mesh *mesh, Arena *arena, const Json *list, Error *err)
{
    if (json_size(list) != mesh->n_devices)
        return error_kind(err, ERROR_RANK, "%d devices for a mesh of %" PRId64, json_size(list),
                          mesh->n_devices);
    DeviceLists *grid = arena_make(arena, DeviceLists);
    for (int i = 0; i < json_size(list); i++) {
        int64_t device = json_int(json_at(list, i), -1);
        if (device < 0 || device >= MESH_DEVICES_MAX)
            return error_kind(err, ERROR_OUT_OF_RANGE, "devices are numbered 0 to %d",
                              MESH_DEVICES_MAX - 1);
        if (!mark_device(grid, device))
            return error_kind(err, ERROR_DUPLICATE, "device %" PRId64 " is in this mesh twice",
                              device);
        vec_push(arena, &grid->devices, (int32_t)device);
    }
    if (mesh->n_axes == 0 || !is_identity(grid->devices.at, grid->devices.n))
        mesh->devices = grid->devices.at;
    return true;
}

Mesh *mesh_from_json(Arena *arena, const Json *value, Error *err)
{
    Mesh *mesh = mesh_new(arena);
    const Json *axes = json_get(value, "axes"), *devices = json_get(value, "devices");
    if (!json_is_array(axes)) {
        error_set(err, "a mesh is {\"axes\": [[NAME, SIZE], ..]}");
        return NULL;
    }
    for (int i = 0; i < json_size(axes); i++) {
        const Json *axis = json_at(axes, i);
        if (!mesh_add_axis(mesh, arena, json_str(json_at(axis, 0), ""),
                           json_int(json_at(axis, 1), 0), err))
            return NULL;
    }
    return !devices || read_devices(mesh, arena, devices, err) ? mesh : NULL;
}

/* ---- writing ---- */

/* Position p opens a list per block that begins there, and closes one per block that ends. */
static void format_devices(const Mesh *mesh, Buf *out)
{
    for (int64_t position = 0; position < mesh->n_devices; position++) {
        buf_puts(out, position > 0 ? "," : "");
        int64_t block = 1;
        for (int axis = mesh->n_axes - 1; axis >= 0; axis--) {
            block *= mesh->axes[axis].size;
            buf_puts(out, position % block == 0 ? "[" : "");
        }
        buf_printf(out, "%" PRId64, mesh_device(mesh, position));
        block = 1;
        for (int axis = mesh->n_axes - 1; axis >= 0; axis--) {
            block *= mesh->axes[axis].size;
            buf_puts(out, (position + 1) % block == 0 ? "]" : "");
        }
    }
}

void mesh_put_axis(const Mesh *mesh, int axis, Buf *out)
{
    size_t from = out->n;
    buf_puts(out, mesh->axes[axis].name);
    buf_mark(out, from, SPAN_AXIS, axis);
}

void mesh_format(const Mesh *mesh, Buf *out)
{
    for (int a = 0; a < mesh->n_axes; a++) {
        buf_puts(out, a > 0 ? "," : "");
        mesh_put_axis(mesh, a, out);
        if (!mesh->devices)
            buf_printf(out, "=%" PRId64, mesh->axes[a].size);
    }
    if (!mesh->devices)
        return;
    buf_putc(out, '=');
    format_devices(mesh, out);
}

/* ---- asking ---- */

int mesh_find_axis(const Mesh *mesh, Str name)
{
    for (int i = 0; i < mesh->n_axes; i++)
        if (str_eq(str_from(mesh->axes[i].name), name))
            return i;
    return -1;
}

int mesh_need_axis(const Mesh *mesh, Str name, Error *err)
{
    int found = mesh_find_axis(mesh, name);
    if (found >= 0)
        return found;

    error_kind(err, ERROR_UNBOUND, "this mesh has no axis '%.*s'", STR_ARG(name));
    const char *nearest = NULL;
    int distance = INT_MAX;
    mesh_each_axis (axis, mesh) {
        int d = str_distance(str_from(axis->name), name);
        if (d < distance) {
            distance = d;
            nearest = axis->name;
        }
    }
    if (nearest)
        error_hint(err, "did you mean '%s'?", nearest);
    return -1;
}

int64_t mesh_coord(const Mesh *mesh, int axis, int64_t position)
{
    assert(0 <= axis && axis < mesh->n_axes);
    assert(0 <= position && position < mesh->n_devices);
    for (int minor = mesh->n_axes - 1; minor > axis; minor--)
        position /= mesh->axes[minor].size;
    return position % mesh->axes[axis].size;
}

bool mesh_stands_first(const Mesh *mesh, AtomSet atoms, int64_t position)
{
    for (int a = 0; a < mesh->n_atoms; a++)
        if (atoms >> a & 1 && mesh_atom_coord(mesh, a, position) != 0)
            return false;
    return true;
}

AtomSet mesh_axis_atoms(const Mesh *mesh, int axis)
{
    const MeshAxis *at = &mesh->axes[axis];
    return ((1u << at->n_atoms) - 1) << at->atom;
}

int64_t mesh_atoms_coord(const Mesh *mesh, AtomSet atoms, int64_t position)
{
    int64_t at = 0;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (atoms >> a & 1)
            at = at * mesh->atoms[a].size + mesh_atom_coord(mesh, a, position);
    return at;
}

int64_t mesh_atoms_size(const Mesh *mesh, AtomSet atoms)
{
    int64_t size = 1;
    for (int i = 0; i < mesh->n_atoms; i++)
        if (atoms >> i & 1)
            size *= mesh->atoms[i].size;
    return size;
}

int64_t mesh_group_member(const Mesh *mesh, AtomSet atoms, int64_t position, int64_t i)
{
    for (int atom = mesh->n_atoms - 1; atom >= 0; atom--) {
        if (!(atoms >> atom & 1))
            continue;
        const MeshAtom *at = &mesh->atoms[atom];
        position += (i % at->size - mesh_atom_coord(mesh, atom, position)) * at->stride;
        i /= at->size;
    }
    return position;
}

int64_t mesh_group_number(const Mesh *mesh, AtomSet atoms, int64_t position)
{
    int64_t number = 0;

    for (int atom = 0; atom < mesh->n_atoms; atom++)
        if (!(atoms >> atom & 1))
            number = number * mesh->atoms[atom].size + mesh_atom_coord(mesh, atom, position);
    return number;
}

int mesh_atoms_run(const Mesh *mesh, const uint8_t *atom, int n, int64_t *size)
{
    int axis = mesh->atoms[atom[0]].axis, length = 1;
    *size = mesh->atoms[atom[0]].size;
    for (; length < n; length++) {
        if (atom[length] != atom[length - 1] + 1 || mesh->atoms[atom[length]].axis != axis)
            break;
        *size *= mesh->atoms[atom[length]].size;
    }
    return length;
}

void mesh_put_part(const Mesh *mesh, const MeshAtom *first, int64_t size, Buf *out)
{
    size_t from = out->n;
    if (size == mesh->axes[first->axis].size)
        return;
    buf_printf(out, ":(%" PRId64 ")%" PRId64, first->pre, size);
    buf_mark(out, from, SPAN_PART, 0);
}

void mesh_format_atoms(const Mesh *mesh, const uint8_t *atom, int n, const char *between, Buf *out)
{
    for (int i = 0, length; i < n; i += length) {
        int64_t size;
        length = mesh_atoms_run(mesh, atom + i, n - i, &size);
        const MeshAtom *first = &mesh->atoms[atom[i]];
        buf_puts(out, i > 0 ? between : "");
        mesh_put_axis(mesh, first->axis, out);
        mesh_put_part(mesh, first, size, out);
    }
}

int mesh_list_set(const Mesh *mesh, AtomSet atoms, uint8_t *atom)
{
    int n = 0;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (atoms >> a & 1)
            atom[n++] = (uint8_t)a;
    return n;
}

void mesh_format_set(const Mesh *mesh, AtomSet atoms, const char *between, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    mesh_format_atoms(mesh, atom, mesh_list_set(mesh, atoms, atom), between, out);
}

/* Appends atoms [from, from+n_new) unless one is in the list already, so a list never overflows. */
static bool append_atoms(const Mesh *mesh, int from, int n_new, uint8_t *atom, int *n, Error *err)
{
    for (int i = from; i < from + n_new; i++) {
        if (memchr(atom, i, (size_t)*n)) {
            error_kind(err, ERROR_CONFLICT, "axis '%s' is used twice",
                       mesh->axes[mesh->atoms[i].axis].name);
            error_hint(err, "an axis shards one dim, once; a part of it is tp:(1)2");
            return false;
        }
        atom[(*n)++] = (uint8_t)i;
    }
    return true;
}

bool mesh_parse_part(const Mesh *mesh, int axis, Scan *scan, uint8_t *atom, int *n)
{
    int first = mesh->axes[axis].atom, end = first + mesh->axes[axis].n_atoms;
    if (!scan_accept(scan, ':'))
        return append_atoms(mesh, first, end - first, atom, n, scan->err);

    int64_t pre, size, product = 1;
    if (!scan_char(scan, '(') || !scan_int(scan, &pre) || !scan_char(scan, ')') ||
        !scan_int(scan, &size))
        return false;
    while (first < end && mesh->atoms[first].pre != pre)
        first++;
    int last = first;
    while (last < end && product < size)
        product *= mesh->atoms[last++].size;
    if (last == first || product != size)
        return error_kind(scan->err, ERROR_NOT_DIVISIBLE,
                          "axis '%s' of size %" PRId64 " has no part (%" PRId64 ")%" PRId64,
                          mesh->axes[axis].name, mesh->axes[axis].size, pre, size);
    return append_atoms(mesh, first, last - first, atom, n, scan->err);
}

bool mesh_parse_atoms(const Mesh *mesh, Scan *scan, uint8_t *atom, int *n)
{
    Str name;
    if (!scan_name(scan, &name))
        return false;
    int axis = mesh_need_axis(mesh, name, scan->err);
    if (axis >= 0 && mesh_parse_part(mesh, axis, scan, atom, n))
        return true;
    scan_blame(scan, name);
    return false;
}

void mesh_format_coords(const Mesh *mesh, uint32_t axes, int64_t position, const char *equals,
                        const char *between, Buf *out)
{
    const char *comma = "";
    for (int a = 0; a < mesh->n_axes; a++) {
        if (!(axes >> a & 1))
            continue;
        buf_puts(out, comma);
        mesh_put_axis(mesh, a, out);
        buf_printf(out, "%s%" PRId64, equals, mesh_coord(mesh, a, position));
        comma = between;
    }
}

void mesh_format_sizes(const Mesh *mesh, AtomSet atoms, Buf *out)
{
    const char *comma = "";
    for (int a = 0; a < mesh->n_axes; a++)
        if (atoms & mesh_axis_atoms(mesh, a)) {
            buf_puts(out, comma);
            mesh_put_axis(mesh, a, out);
            buf_printf(out, "=%" PRId64, mesh->axes[a].size);
            comma = ", ";
        }
}
