#include "core/layout/placement.h"
#include "core/layout/sharding.h"
#include "core/layout/weights.h"

#include <inttypes.h>

typedef struct {
    Scan scan;
    const Mesh *mesh;
    const Shape *shape;
    AtomSet used; /* each atom shards one digit, or is partial, once */
    Sharding *out;
} ShardingReader;

/* Axes as they are read, before it is known what they do. */
typedef struct {
    size_t at; /* place in the text */
    int n;
    uint8_t atom[ATOMS_MAX];
} ReadAxes;

/* Sets the place of an error that has none yet. */
static bool blame(ShardingReader *reader, size_t at)
{
    error_at(reader->scan.err, reader->scan.source, at);
    return false;
}

static size_t here(ShardingReader *reader)
{
    scan_peek(&reader->scan);
    return reader->scan.at;
}

static bool claim(ShardingReader *reader, const ReadAxes *list)
{
    for (int i = 0; i < list->n; i++) {
        AtomSet atom = (AtomSet)1 << list->atom[i];
        if (reader->used & atom) {
            error_kind(reader->scan.err, ERROR_CONFLICT, "axis '%s' is used twice",
                       reader->mesh->axes[reader->mesh->atoms[list->atom[i]].axis].name);
            error_hint(reader->scan.err, "an axis shards one dim, once; a part of it is tp:(1)2");
            return blame(reader, list->at);
        }
        reader->used |= atom;
    }
    return true;
}

static bool set_partial(ShardingReader *reader, const ReadAxes *list, ReduceOp reduce)
{
    for (int i = 0; i < list->n; i++)
        reader->out->partial[list->atom[i]] = (uint8_t)reduce;
    return claim(reader, list);
}

static bool fail_rank(ShardingReader *reader, size_t at)
{
    error_kind(reader->scan.err, ERROR_RANK, "the tensor has %" PRId64 " dims",
               reader->shape->n_dims);
    return blame(reader, at);
}

/* Shards dim d by a list. flat: the chunks are those of all axes at once, as in Shardy and JAX;
 * chunks of chunks equal them only if they are even. */
static bool set_dim(ShardingReader *reader, int64_t d, const ReadAxes *list, bool flat)
{
    if (d >= reader->shape->n_dims)
        return fail_rank(reader, list->at);
    Cut cut = cut_by(reader->shape->dim[d], list->atom, list->n, reader->mesh);
    reader->out->dim[d] = cut;
    int64_t size;
    if (flat && cut_is_uneven(&cut, reader->mesh) &&
        mesh_atoms_run(reader->mesh, list->atom, list->n, &size) < list->n) {
        error_kind(reader->scan.err, ERROR_NOT_DIVISIBLE,
                   "several axes do not divide a dim of %" PRId64, reader->shape->dim[d]);
        return blame(reader, list->at);
    }
    return claim(reader, list);
}

/* ---- ours: 8/dp,(3)(768/tp),8/tp:(1)2 +dp max(tp) ---- */

/* axes = part { "." part } */
static bool read_dotted(ShardingReader *reader, ReadAxes *list)
{
    *list = (ReadAxes){.at = here(reader)};
    do {
        if (!mesh_parse_atoms(reader->mesh, &reader->scan, list->atom, &list->n))
            return false;
    } while (scan_accept(&reader->scan, '.'));
    return true;
}

/* sizes = "{" size { "," size } "}", one for each part of the digit. */
static bool read_sizes(ShardingReader *reader, Digit *digit)
{
    int64_t size[WEIGHTS_MAX];
    int n = 0;
    size_t at = here(reader);
    do {
        if (!scan_int(&reader->scan, &size[n++]))
            return false;
    } while (n < WEIGHTS_MAX && scan_accept(&reader->scan, ','));
    Cut cut;
    if (!scan_char(&reader->scan, '}'))
        return false;
    if (!cut_sized(digit->size, size, n, digit->atom, digit->n, reader->mesh, &cut,
                   reader->scan.err))
        return blame(reader, at);
    *digit = cut.digit[0];
    return true;
}

/* digit = size [ "/" axes [ sizes ] ] */
static bool read_digit(ShardingReader *reader, Digit *digit)
{
    *digit = (Digit){0};
    size_t at = here(reader);
    if (!scan_int(&reader->scan, &digit->size))
        return false;
    if (digit->size < 0) {
        error_kind(reader->scan.err, ERROR_OUT_OF_RANGE, "a size is 0 or more");
        return blame(reader, at);
    }
    if (!scan_accept(&reader->scan, '/'))
        return true;
    ReadAxes list;
    if (!read_dotted(reader, &list) || !claim(reader, &list))
        return false;
    digit->n = (uint8_t)list.n;
    memcpy(digit->atom, list.atom, sizeof digit->atom);
    return !scan_accept(&reader->scan, '{') || read_sizes(reader, digit);
}

/* A block that is dealt from the last rank to the first has parts of one size. */
static bool deals_evenly(ShardingReader *reader, const int64_t *size, const bool *mirrored, int n,
                         const ReadAxes *list)
{
    int64_t parts = 1;
    for (int i = 0; i < list->n; i++)
        parts *= reader->mesh->atoms[list->atom[i]].size;
    for (int i = 0; i < n; i++)
        if (mirrored[i] && size[i] % parts != 0) {
            error_kind(reader->scan.err, ERROR_NOT_DIVISIBLE,
                       "a mirrored block of %" PRId64 " does not divide by %" PRId64, size[i],
                       parts);
            return blame(reader, here(reader));
        }
    return true;
}

/* The blocks after the first, and the axes that cut them all. */
static bool read_blocks(ShardingReader *reader, int64_t first, Cut *cut)
{
    int64_t size[DIGITS_MAX] = {first}, total = first;
    bool mirrored[DIGITS_MAX] = {false};
    int n = 1;
    ReadAxes list;
    size_t at = here(reader);
    while (scan_accept(&reader->scan, '|')) {
        if (n == DIGITS_MAX) {
            error_kind(reader->scan.err, ERROR_OUT_OF_RANGE, "a dim has at most %d blocks",
                       DIGITS_MAX);
            return blame(reader, here(reader));
        }
        if (!scan_int(&reader->scan, &size[n]))
            return false;
        if (size[n] < 1 || __builtin_add_overflow(total, size[n], &total)) {
            error_kind(reader->scan.err, ERROR_OUT_OF_RANGE, "a block has 1 element or more");
            return blame(reader, at);
        }
        mirrored[n++] = scan_accept(&reader->scan, '~');
    }
    return scan_char(&reader->scan, ')') && scan_char(&reader->scan, '/') &&
           read_dotted(reader, &list) && claim(reader, &list) &&
           deals_evenly(reader, size, mirrored, n, &list) &&
           cut_blocks_dealt(size, mirrored, n, list.atom, list.n, reader->mesh, cut);
}

static bool read_digits(ShardingReader *reader, Cut *cut)
{
    *cut = (Cut){0};
    if (scan_peek(&reader->scan) != '(') {
        cut->n = 1;
        return read_digit(reader, &cut->digit[0]);
    }
    while (scan_accept(&reader->scan, '(')) {
        if (cut->n == DIGITS_MAX) {
            error_kind(reader->scan.err, ERROR_OUT_OF_RANGE, "a dim has at most %d digits",
                       DIGITS_MAX);
            return blame(reader, here(reader));
        }
        Digit *digit = &cut->digit[cut->n++];
        if (!read_digit(reader, digit))
            return false;
        if (cut->n == 1 && digit->n == 0 && digit->size > 0 && scan_peek(&reader->scan) == '|')
            return read_blocks(reader, digit->size, cut);
        if (!scan_char(&reader->scan, ')'))
            return false;
    }
    return true;
}

static bool has_size(const Cut *cut, int64_t size)
{
    int64_t product = 1;
    if (cut_is_blocks(cut))
        return cut_size(cut) == size;
    for (int i = 0; i < cut->n; i++)
        if (__builtin_mul_overflow(product, cut->digit[i].size, &product))
            return false;
    return product == size;
}

/* "56/x[1,1]" is printed, and not chosen. */
static bool fail_halo(ShardingReader *reader)
{
    error_kind(reader->scan.err, ERROR_SYNTAX, "a halo is not part of a sharding that is given");
    error_hint(reader->scan.err, "leave [..] out: how far an op reads into the neighbours' parts "
                                 "follows from the op");
    return blame(reader, here(reader));
}

/* dims = "scalar" | dim { "," dim }
 * dim = cut [ "[ring]" ]
 * cut = digit | "(" digit ")" { "(" digit ")" } | "(" size { "|" size [ "~" ] } ")" "/" axes */
static bool read_our_dims(ShardingReader *reader)
{
    size_t at = here(reader);
    int64_t d = 0;
    if (scan_accept_text(&reader->scan, STR("scalar")))
        return reader->shape->n_dims == 0 || fail_rank(reader, at);
    do {
        at = here(reader);
        Cut cut;
        if (!read_digits(reader, &cut))
            return false;
        bool ring = scan_accept_text(&reader->scan, STR("[ring]"));
        if (scan_peek(&reader->scan) == '[')
            return fail_halo(reader);
        if (d == reader->shape->n_dims)
            return fail_rank(reader, at);
        if (!has_size(&cut, reader->shape->dim[d])) {
            error_kind(reader->scan.err, ERROR_CONFLICT, "dim %" PRId64 " has size %" PRId64, d,
                       reader->shape->dim[d]);
            return blame(reader, at);
        }
        cut_canonical(&cut, reader->mesh);
        if (ring && !cut_is_whole(&cut))
            cut.before = CUT_RING, cut.after = 1;
        reader->out->dim[d++] = cut;
    } while (scan_accept(&reader->scan, ','));
    return d == reader->shape->n_dims || fail_rank(reader, here(reader));
}

/* mark = ("Σ" | "+") axes | reduction "(" axes ")" */
static bool read_mark(ShardingReader *reader)
{
    ReadAxes list;
    if (scan_accept_text(&reader->scan, STR("Σ")) || scan_accept(&reader->scan, '+'))
        return read_dotted(reader, &list) && set_partial(reader, &list, REDUCE_SUM);
    Str name;
    ReduceOp reduce;
    if (!scan_name(&reader->scan, &name))
        return false;
    if (!reduce_from_name(name, &reduce)) {
        error_kind(reader->scan.err, ERROR_SYNTAX, "'%.*s' is not a reduction", STR_ARG(name));
        scan_blame(&reader->scan, name);
        return false;
    }
    return scan_char(&reader->scan, '(') && read_dotted(reader, &list) &&
           scan_char(&reader->scan, ')') && set_partial(reader, &list, reduce);
}

static bool read_ours(ShardingReader *reader)
{
    if (!read_our_dims(reader))
        return false;
    while (scan_peek(&reader->scan) != '\0')
        if (!read_mark(reader))
            return false;
    return true;
}

/* ---- dims_mapping: [0,-1] or [[0,1],[]], then {"1":"sum"} ---- */

static bool read_axis_number(ShardingReader *reader, int64_t lowest, ReadAxes *list)
{
    size_t at = here(reader);
    int64_t axis;
    if (!scan_int(&reader->scan, &axis))
        return false;
    if (axis < lowest || axis >= reader->mesh->n_axes) {
        error_kind(reader->scan.err, ERROR_OUT_OF_RANGE, "no axis %" PRId64 " in a mesh of %d axes",
                   axis, reader->mesh->n_axes);
        return blame(reader, at);
    }
    Scan nothing = scan_begin(&(Source){"", STR("")}, reader->scan.err);
    return axis < 0 || mesh_parse_part(reader->mesh, (int)axis, &nothing, list->atom, &list->n) ||
           blame(reader, at);
}

/* entry = axis | -1 | "[" [ axis { "," axis } ] "]" */
static bool read_mapping_entry(ShardingReader *reader, ReadAxes *list)
{
    *list = (ReadAxes){.at = here(reader)};
    if (!scan_accept(&reader->scan, '['))
        return read_axis_number(reader, -1, list);
    if (scan_accept(&reader->scan, ']'))
        return true;
    do {
        if (!read_axis_number(reader, 0, list))
            return false;
    } while (scan_accept(&reader->scan, ','));
    return scan_char(&reader->scan, ']');
}

/* partial = "{" [ '"' axis '":"' reduction '"' { "," .. } ] "}" */
static bool read_mapping_partial(ShardingReader *reader)
{
    Scan *scan = &reader->scan;
    if (scan_accept(scan, '}'))
        return true;
    do {
        ReadAxes list = {.at = here(reader)};
        Str name;
        ReduceOp reduce;
        if (!scan_char(scan, '"') || !read_axis_number(reader, 0, &list) || !scan_char(scan, '"') ||
            !scan_char(scan, ':') || !scan_char(scan, '"') || !scan_name(scan, &name))
            return false;
        if (!reduce_from_name(name, &reduce)) {
            error_kind(scan->err, ERROR_SYNTAX, "'%.*s' is not a reduction", STR_ARG(name));
            scan_blame(scan, name);
            return false;
        }
        if (!scan_char(scan, '"') || !set_partial(reader, &list, reduce))
            return false;
    } while (scan_accept(scan, ','));
    return scan_char(scan, '}');
}

typedef bool ReadEntry(ShardingReader *reader, ReadAxes *list);

/* "[" [ entry { "," entry } ] "]", one entry a dim. */
static bool read_dim_list(ShardingReader *reader, ReadEntry *entry, bool flat)
{
    int64_t d = 0;
    if (!scan_char(&reader->scan, '['))
        return false;
    if (scan_peek(&reader->scan) != ']')
        do {
            ReadAxes list;
            if (!entry(reader, &list) || !set_dim(reader, d++, &list, flat))
                return false;
        } while (scan_accept(&reader->scan, ','));
    if (d != reader->shape->n_dims)
        return fail_rank(reader, here(reader));
    return scan_char(&reader->scan, ']');
}

static bool read_dims_mapping(ShardingReader *reader)
{
    if (!read_dim_list(reader, read_mapping_entry, false))
        return false;
    return !scan_accept(&reader->scan, '{') || read_mapping_partial(reader);
}

/* ---- placements: [S(0), P(sum)] ---- */

/* "[" placement { "," placement } "]", one for each axis of the mesh */
static bool scan_placements(Scan *scan, int64_t n_dims, const Mesh *mesh, Placement *placements)
{
    int n = 0;
    if (!scan_char(scan, '['))
        return false;
    if (scan_peek(scan) != ']')
        do {
            Placement placement;
            if (!placement_scan(scan, n_dims, &placement))
                return false;
            if (n < mesh->n_axes)
                placements[n] = placement;
            n++;
        } while (n <= mesh->n_axes && scan_accept(scan, ','));
    if (n == mesh->n_axes)
        return scan_char(scan, ']');
    error_set(scan->err, "one placement for each of the %d axes of the mesh", mesh->n_axes);
    error_at(scan->err, scan->source, scan->at);
    return false;
}

static bool read_placements(ShardingReader *reader)
{
    Placement placements[MESH_AXES_MAX];
    size_t at = here(reader);
    return scan_placements(&reader->scan, reader->shape->n_dims, reader->mesh, placements) &&
           (placements_sharding(placements, reader->shape, reader->mesh, reader->out,
                                reader->scan.err) ||
            blame(reader, at));
}

/* ---- PartitionSpec: P('dp',None), P(('dp','tp')) ---- */

/* Appends the atoms of a quoted axis; part: a sub-axis may follow, as Shardy writes it. */
static bool read_quoted(ShardingReader *reader, char quote, bool part, ReadAxes *list)
{
    Str name;
    if (!scan_char(&reader->scan, quote) || !scan_name(&reader->scan, &name) ||
        !scan_char(&reader->scan, quote))
        return false;
    int axis = mesh_need_axis(reader->mesh, name, reader->scan.err);
    Scan nothing = scan_begin(&(Source){"", STR("")}, reader->scan.err);
    Scan *rest = part ? &reader->scan : &nothing;
    if (axis >= 0 && mesh_parse_part(reader->mesh, axis, rest, list->atom, &list->n))
        return true;
    scan_blame(&reader->scan, name);
    return false;
}

/* entry = "None" | axis | "(" axis { "," axis } [ "," ] ")" */
static bool read_spec_entry(ShardingReader *reader, ReadAxes *list)
{
    Scan *scan = &reader->scan;
    *list = (ReadAxes){.at = here(reader)};
    if (scan_accept_text(scan, STR("None")))
        return true;
    bool tuple = scan_accept(scan, '(');
    do {
        char quote = scan_peek(scan) == '"' ? '"' : '\'';
        if (!read_quoted(reader, quote, false, list))
            return false;
    } while (tuple && scan_accept(scan, ',') && scan_peek(scan) != ')');
    return !tuple || scan_char(scan, ')');
}

/* spec = "P(" [ entry { "," entry } ] [ "," ] ")"; dims that are not mentioned are whole */
static bool read_partition_spec(ShardingReader *reader)
{
    Scan *scan = &reader->scan;
    if (!scan_accept_text(scan, STR("PartitionSpec")) && !scan_char(scan, 'P'))
        return false;
    if (!scan_char(scan, '('))
        return false;
    for (int64_t d = 0; scan_peek(scan) != ')'; d++) {
        ReadAxes list;
        if ((d > 0 && !scan_char(scan, ',')) || (d > 0 && scan_peek(scan) == ')'))
            break;
        if (!read_spec_entry(reader, &list) || !set_dim(reader, d, &list, true))
            return false;
    }
    return !error_is_set(scan->err) && scan_char(scan, ')');
}

/* ---- Shardy: [{"dp"},{"tp":(1)2}] unreduced={"tp"} ---- */

/* "{" [ axis { "," axis } ] "}" */
static bool read_shardy_axes(ShardingReader *reader, ReadAxes *list)
{
    *list = (ReadAxes){.at = here(reader)};
    if (!scan_char(&reader->scan, '{'))
        return false;
    if (scan_accept(&reader->scan, '}'))
        return true;
    do {
        if (!read_quoted(reader, '"', true, list))
            return false;
    } while (scan_accept(&reader->scan, ','));
    return scan_char(&reader->scan, '}');
}

static bool read_shardy(ShardingReader *reader)
{
    ReadAxes list;
    if (!read_dim_list(reader, read_shardy_axes, true))
        return false;
    if (scan_peek(&reader->scan) == '\0')
        return true;
    scan_accept(&reader->scan, ',');
    if (!scan_accept_text(&reader->scan, STR("unreduced")))
        return scan_fail(&reader->scan, "expected unreduced={..} or the end");
    return scan_char(&reader->scan, '=') && read_shardy_axes(reader, &list) &&
           set_partial(reader, &list, REDUCE_SUM);
}

static bool read_view(ShardingReader *reader, ShardingView view)
{
    switch (view) {
    case VIEW_OURS:
    case VIEW_OURS_ASCII:
        return read_ours(reader);
    case VIEW_DIMS_MAPPING:
        return read_dims_mapping(reader);
    case VIEW_PLACEMENTS:
    case VIEW_PLACEMENTS_LONG:
        return read_placements(reader);
    case VIEW_PARTITION_SPEC:
        return read_partition_spec(reader);
    case VIEW_SHARDY:
        return read_shardy(reader);
    case VIEW_COUNT:
        break;
    }
    return false;
}

bool sharding_parse(const Source *source, const Shape *shape, const Mesh *mesh, ShardingView view,
                    Sharding *out, Error *err)
{
    Error fallback = {0}; /* the scanner writes one in any case */
    *out = sharding_whole(shape);
    ShardingReader reader = {.scan = scan_begin(source, err ? err : &fallback),
                             .mesh = mesh,
                             .shape = shape,
                             .out = out};
    return read_view(&reader, view) && scan_end(&reader.scan);
}

/* The view that a sharding is written in, judged by its first characters. */
ShardingView sharding_view_of(Str text)
{
    text = str_trim(text);
    if (str_starts(text, STR("P(")) || str_starts(text, STR("PartitionSpec(")))
        return VIEW_PARTITION_SPEC;
    if (text.n == 0 || text.s[0] != '[')
        return VIEW_OURS;
    Str inside = str_trim((Str){text.s + 1, text.n - 1});
    char first = inside.n > 0 ? inside.s[0] : ']';
    if (first == '{')
        return VIEW_SHARDY;
    return is_digit(first) || first == '-' || first == '[' || first == ']' ? VIEW_DIMS_MAPPING
                                                                           : VIEW_PLACEMENTS;
}

bool sharding_parse_any(const Source *source, const Shape *shape, const Mesh *mesh, Sharding *out,
                        Error *err)
{
    return sharding_parse(source, shape, mesh, sharding_view_of(source->text), out, err);
}

bool placements_parse(const Source *source, const Shape *shape, const Mesh *mesh,
                      Placement *placements, Error *err)
{
    Error fallback = {0};
    Sharding sharding;
    if (sharding_view_of(source->text) == VIEW_PLACEMENTS) {
        Scan scan = scan_begin(source, err ? err : &fallback);
        return scan_placements(&scan, shape->n_dims, mesh, placements) && scan_end(&scan);
    }
    return sharding_parse_any(source, shape, mesh, &sharding, err) &&
           placements_of(&sharding, mesh, placements, err);
}
