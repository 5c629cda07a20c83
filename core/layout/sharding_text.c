#include "core/base/span.h"
#include "core/layout/placement.h"
#include "core/layout/sharding.h"

#include <inttypes.h>

static const char *const view_names[VIEW_COUNT] = {
    [VIEW_OURS] = "ours",
    [VIEW_OURS_ASCII] = "ascii",
    [VIEW_DIMS_MAPPING] = "dims_mapping",
    [VIEW_PLACEMENTS] = "placements",
    [VIEW_PLACEMENTS_LONG] = "placements_long",
    [VIEW_PARTITION_SPEC] = "partition_spec",
    [VIEW_SHARDY] = "shardy",
};

const char *sharding_view_name(ShardingView view)
{
    return view_names[view];
}

/* ---- what the views share ---- */

/* The atoms that the tensor is partial over by this reduction, ascending. */
static int partial_atoms(const Sharding *sharding, ReduceOp reduce, uint8_t atom[ATOMS_MAX])
{
    int n = 0;
    for (int i = 0; i < ATOMS_MAX; i++)
        if (sharding->partial[i] == reduce)
            atom[n++] = (uint8_t)i;
    return n;
}

static bool cannot_hold(Error *err, const char *what)
{
    return error_kind(err, ERROR_UNSUPPORTED, "cannot express %s", what);
}

/* A dim in blocks, (3)(768/tp), has more than one digit. */
static bool has_blocks(const Cut *cut)
{
    return cut->n > 1;
}

/* Fails for a dim that lists of axes do not describe. */
static bool check_plain(const Cut *cut, Error *err)
{
    if (has_blocks(cut))
        return cannot_hold(err, "blocks of a dim");
    return cut_is_plain(cut) || cannot_hold(err, "parts of given sizes");
}

/* The digit of a dim without blocks. */
static const Digit *only_digit(const Cut *cut)
{
    static const Digit one = {.size = 1};
    return cut->n > 0 ? &cut->digit[0] : &one;
}

/* Returns true if chunks of chunks are the chunks of all axes at once, which Shardy and JAX mean.
 */
static bool is_flat(const Cut *cut, const Mesh *mesh)
{
    const Digit *digit = only_digit(cut);
    int64_t size;
    return digit->n == 0 || !cut_is_uneven(cut, mesh) ||
           mesh_atoms_run(mesh, digit->atom, digit->n, &size) == digit->n;
}

/* Fails unless every axis that shards or is partial does so whole. */
static bool check_whole_axes(const uint8_t *atom, int n, const Mesh *mesh, Error *err)
{
    for (int i = 0, length; i < n; i += length) {
        int64_t size;
        length = mesh_atoms_run(mesh, atom + i, n - i, &size);
        if (size != mesh->axes[mesh->atoms[atom[i]].axis].size)
            return cannot_hold(err, "a part of an axis");
    }
    return true;
}

/* ---- writing ---- */

void sharding_format_sums(const Sharding *sharding, const Mesh *mesh, const char *sum, Buf *out)
{
    for (ReduceOp reduce = REDUCE_SUM; reduce <= REDUCE_ALL; reduce++) {
        uint8_t atom[ATOMS_MAX];
        int n = partial_atoms(sharding, reduce, atom);
        if (n == 0)
            continue;
        buf_putc(out, ' ');
        size_t from = out->n;
        if (reduce != REDUCE_SUM) {
            buf_printf(out, "%s(", reduce_name(reduce));
        } else {
            buf_puts(out, sum);
            buf_mark(out, from, SPAN_SUM, mesh->atoms[atom[0]].axis);
        }
        mesh_format_atoms(mesh, atom, n, ".", out);
        buf_puts(out, reduce == REDUCE_SUM ? "" : ")");
    }
}

static bool format_ours(const Sharding *sharding, const Mesh *mesh, ShardingView view, Buf *out)
{
    if (sharding->n_dims == 0)
        buf_puts(out, "scalar");
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        buf_puts(out, d > 0 ? "," : "");
        size_t from = out->n;
        cut_format(&sharding->dim[d], mesh, out);
        buf_mark(out, from, SPAN_DIM, (int)d);
    }
    sharding_format_sums(sharding, mesh, view == VIEW_OURS ? "Σ" : "+", out);
    return true;
}

/* Axes by number: "0", or "[0,1]" when `lists`; "-1" or "[]" for none. */
static void format_numbers(const Digit *digit, const Mesh *mesh, bool lists, Buf *out)
{
    buf_puts(out, lists ? "[" : digit->n == 0 ? "-1" : "");
    for (int i = 0, length; i < digit->n; i += length) {
        int64_t size;
        length = mesh_atoms_run(mesh, digit->atom + i, digit->n - i, &size);
        buf_printf(out, "%s%d", i > 0 ? "," : "", mesh->atoms[digit->atom[i]].axis);
    }
    buf_puts(out, lists ? "]" : "");
}

bool sharding_format_partial(const Sharding *sharding, const Mesh *mesh, Buf *out, Error *err)
{
    const char *comma = "";
    size_t begin = out->n;
    buf_putc(out, '{');
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        const MeshAxis *at = &mesh->axes[axis];
        for (int i = at->atom + 1; i < at->atom + at->n_atoms; i++)
            if (sharding->partial[i] != sharding->partial[at->atom]) {
                buf_cut(out, begin);
                return cannot_hold(err, "a part of an axis");
            }
        if (at->n_atoms == 0 || sharding->partial[at->atom] == REDUCE_NONE)
            continue;
        buf_printf(out, "%s\"%d\":\"%s\"", comma, axis, reduce_name(sharding->partial[at->atom]));
        comma = ",";
    }
    buf_putc(out, '}');
    return true;
}

static bool format_dims_mapping(const Sharding *sharding, const Mesh *mesh, Buf *out, Error *err)
{
    bool lists = false;
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        const Digit *digit = only_digit(&sharding->dim[d]);
        int64_t size;
        if (!check_plain(&sharding->dim[d], err))
            return false;
        if (!check_whole_axes(digit->atom, digit->n, mesh, err))
            return false;
        lists |= digit->n > 0 && mesh_atoms_run(mesh, digit->atom, digit->n, &size) < digit->n;
    }
    buf_putc(out, '[');
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        buf_puts(out, d > 0 ? "," : "");
        format_numbers(only_digit(&sharding->dim[d]), mesh, lists, out);
    }
    buf_putc(out, ']');
    if (sharding_partials(sharding) == 0)
        return true;
    buf_putc(out, ' ');
    return sharding_format_partial(sharding, mesh, out, err);
}

static bool format_placements(const Sharding *sharding, const Mesh *mesh, ShardingView view,
                              Buf *out, Error *err)
{
    Placement placements[MESH_AXES_MAX];
    if (!placements_of(sharding, mesh, placements, err))
        return false;
    buf_putc(out, '[');
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        buf_puts(out, axis > 0 ? ", " : "");
        placement_format(&placements[axis], view == VIEW_PLACEMENTS_LONG, out);
    }
    buf_putc(out, ']');
    return true;
}

static bool check_flat(const Sharding *sharding, const Mesh *mesh, Error *err)
{
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        if (!check_plain(&sharding->dim[d], err))
            return false;
        if (!is_flat(&sharding->dim[d], mesh))
            return cannot_hold(err, "uneven sharding by several axes");
    }
    return true;
}

/* 'dp', or ('dp','tp'), or None. */
static void format_python_axes(const Digit *digit, const Mesh *mesh, Buf *out)
{
    int64_t size;
    if (digit->n == 0) {
        buf_puts(out, "None");
        return;
    }
    bool tuple = mesh_atoms_run(mesh, digit->atom, digit->n, &size) < digit->n;
    buf_puts(out, tuple ? "('" : "'");
    mesh_format_atoms(mesh, digit->atom, digit->n, "','", out);
    buf_puts(out, tuple ? "')" : "'");
}

static bool format_partition_spec(const Sharding *sharding, const Mesh *mesh, Buf *out, Error *err)
{
    if (sharding_partials(sharding) != 0)
        return cannot_hold(err, "that a tensor is partial");
    if (!check_flat(sharding, mesh, err))
        return false;
    buf_puts(out, "P(");
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        const Digit *digit = only_digit(&sharding->dim[d]);
        if (!check_whole_axes(digit->atom, digit->n, mesh, err))
            return false;
        buf_puts(out, d > 0 ? "," : "");
        format_python_axes(digit, mesh, out);
    }
    buf_putc(out, ')');
    return true;
}

/* {"dp","tp":(1)2} */
static void format_shardy_axes(const uint8_t *atom, int n, const Mesh *mesh, Buf *out)
{
    buf_putc(out, '{');
    for (int i = 0, length; i < n; i += length) {
        int64_t size;
        length = mesh_atoms_run(mesh, atom + i, n - i, &size);
        const MeshAtom *first = &mesh->atoms[atom[i]];
        buf_puts(out, i > 0 ? ",\"" : "\"");
        mesh_put_axis(mesh, first->axis, out);
        buf_putc(out, '"');
        mesh_put_part(mesh, first, size, out);
    }
    buf_putc(out, '}');
}

static bool format_shardy(const Sharding *sharding, const Mesh *mesh, Buf *out, Error *err)
{
    uint8_t atom[ATOMS_MAX];
    int n = partial_atoms(sharding, REDUCE_SUM, atom);
    for (ReduceOp reduce = REDUCE_AVG; reduce <= REDUCE_ALL; reduce++) {
        uint8_t others[ATOMS_MAX];
        if (partial_atoms(sharding, reduce, others) > 0)
            return cannot_hold(err, "partial by another reduction than sum");
    }
    if (!check_flat(sharding, mesh, err))
        return false;
    buf_putc(out, '[');
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        const Digit *digit = only_digit(&sharding->dim[d]);
        buf_puts(out, d > 0 ? "," : "");
        format_shardy_axes(digit->atom, digit->n, mesh, out);
    }
    buf_putc(out, ']');
    if (n > 0) {
        buf_puts(out, " unreduced=");
        format_shardy_axes(atom, n, mesh, out);
    }
    return true;
}

static bool format_view(const Sharding *sharding, const Mesh *mesh, ShardingView view, Buf *out,
                        Error *err)
{
    switch (view) {
    case VIEW_OURS:
    case VIEW_OURS_ASCII:
        return format_ours(sharding, mesh, view, out);
    case VIEW_DIMS_MAPPING:
        return format_dims_mapping(sharding, mesh, out, err);
    case VIEW_PLACEMENTS:
    case VIEW_PLACEMENTS_LONG:
        return format_placements(sharding, mesh, view, out, err);
    case VIEW_PARTITION_SPEC:
        return format_partition_spec(sharding, mesh, out, err);
    case VIEW_SHARDY:
        return format_shardy(sharding, mesh, out, err);
    case VIEW_COUNT:
        break;
    }
    return false;
}

bool sharding_format(const Sharding *sharding, const Mesh *mesh, ShardingView view, Buf *out,
                     Error *err)
{
    size_t begin = out->n;
    if (view != VIEW_OURS && view != VIEW_OURS_ASCII && sharding_has_halo(sharding))
        return cannot_hold(err, "a halo");
    if (format_view(sharding, mesh, view, out, err))
        return true;
    buf_cut(out, begin);
    return false;
}
