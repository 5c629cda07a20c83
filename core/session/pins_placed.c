#include "core/session/pins_read.h"

#include "core/layout/placement.h"

#include <inttypes.h>

typedef PinsAxes Axes;

/* ---- placements: [Shard(0), Replicate()] ---- */

typedef struct {
    Placement it;
    int order; /* among those of one dim, as Paddle has it; -1 if not given */
    int axis;  /* of our mesh; -2 for an axis of one device */
} PlacedAxis;

typedef struct {
    const char *name;
    PlacementKind kind;
} PlacedWord;

static bool find_placed(Str word, PlacementKind *out)
{
    static const PlacedWord words[] = {
        {"R", PLACE_REPLICATE},
        {"Replicate", PLACE_REPLICATE},
        {"S", PLACE_SHARD},
        {"Shard", PLACE_SHARD},
        {"_S", PLACE_STRIDED},
        {"_StridedShard", PLACE_STRIDED},
        {"IS", PLACE_INTERLEAVED},
        {"InterleavedShard", PLACE_INTERLEAVED},
        {"P", PLACE_PARTIAL},
        {"Partial", PLACE_PARTIAL},
        {"MaskPartial", PLACE_NORM_PARTIAL},
        {"_MaskPartial", PLACE_NORM_PARTIAL},
        {"NormPartial", PLACE_NORM_PARTIAL},
        {"_NormPartial", PLACE_NORM_PARTIAL},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(pins_last(word), str_from(words[i].name))) {
            *out = words[i].kind;
            return true;
        }
    return false;
}

bool pins_is_placement(Str word)
{
    PlacementKind unused;
    return find_placed(word, &unused);
}

/* Sets one numeric argument, by name or position. */
static bool put_number(PinsReader *r, Str key, int place, int64_t number, size_t at,
                       PlacedAxis *out)
{
    int64_t n_dims = r->out->shape.n_dims;
    if (str_eq(key, STR("dim")) || (key.n == 0 && place == 0)) {
        if (number < -n_dims || number >= n_dims) {
            error_kind(r->scan->err, ERROR_OUT_OF_RANGE,
                       "there is no dim %" PRId64 " in a tensor of %" PRId64 " dims", number,
                       n_dims);
            return pins_fail_at(r, at);
        }
        out->it.dim = (int)(number < 0 ? number + n_dims : number);
        return true;
    }
    if (str_eq(key, STR("shard_order")) && number >= 0 && number < PINS_AXES_MAX) {
        out->order = (int)number;
        return true;
    }
    if (number < 1 || str_eq(key, STR("shard_order"))) {
        error_kind(r->scan->err, ERROR_OUT_OF_RANGE, "'%.*s' cannot be %" PRId64, STR_ARG(key),
                   number);
        return pins_fail_at(r, at);
    }
    out->it.factor = number;
    if (number > 1 && out->it.kind == PLACE_SHARD)
        out->it.kind = PLACE_STRIDED;
    return true;
}

/* dim=0, 3, "sum", ReduceType.kRedSum */
static bool read_argument(PinsReader *r, int place, PlacedAxis *out)
{
    size_t at = pins_here(r);
    Str word = pins_word(r->scan), key = {"", 0};
    int64_t number;
    if (word.n > 0 && pins_accept(r->scan, '=')) {
        key = word;
        at = pins_here(r);
        word = pins_word(r->scan);
    }
    if (word.n == 0 && pins_at_string(r->scan) &&
        !pins_string(r->text->scratch, r->scan, false, &word))
        return false;
    if (word.n == 0)
        return scan_int(r->scan, &number) && put_number(r, key, place, number, at, out);
    if (out->it.kind != PLACE_PARTIAL) {
        error_kind(r->scan->err, ERROR_SYNTAX, "expected a number, found '%.*s'", STR_ARG(word));
        return pins_fail_at(r, at);
    }
    return pins_reduce(r, word, at, &out->it.reduce);
}

static bool read_placed(PinsReader *r, bool joined, PlacedAxis *out)
{
    size_t at = pins_here(r);
    Str word = pins_word(r->scan);
    if (joined && word.n > 1 && word.s[0] == 'R') { /* "RS(0)" */
        word.n = 1;
        r->scan->at = at + 1;
    }
    *out = (PlacedAxis){.it = {.factor = 1, .dim = -1, .reduce = REDUCE_SUM}, .order = -1};
    if (!find_placed(word, &out->it.kind)) {
        if (word.n == 0)
            return scan_fail(r->scan, "expected a placement");
        error_kind(r->scan->err, ERROR_SYNTAX, "'%.*s' is not a placement", STR_ARG(word));
        error_hint(r->scan->err, "Shard(dim), Replicate(), Partial(\"sum\") or "
                                 "_StridedShard(dim, split_factor=2)");
        return pins_fail_at(r, at);
    }
    if (out->it.kind == PLACE_NORM_PARTIAL) {
        error_kind(r->scan->err, ERROR_UNSUPPORTED, "a pin cannot express %.*s", STR_ARG(word));
        return pins_fail_at(r, at);
    }
    int n = 0;
    if (pins_accept(r->scan, '('))
        for (; !pins_accept(r->scan, ')'); n++) {
            if (!read_argument(r, n, out))
                return false;
            if (!pins_accept(r->scan, ',') && pins_peek(r->scan) != ')')
                return pins_expect(r->scan, ')');
        }
    if (!placement_is_shard(&out->it) || out->it.dim >= 0)
        return true;
    error_kind(r->scan->err, ERROR_SYNTAX, "%.*s needs a dim", STR_ARG(word));
    return pins_fail_at(r, at);
}

/* Applies axes that shard one dim in another order than our mesh's; they are unsplit, so one list
 * describes them. */
static bool cut_in_order(PinsReader *r, const PlacedAxis *placed, int n, int dim, size_t at)
{
    Axes axes = {.at = at};
    for (int order = -1; order < PINS_AXES_MAX; order++)
        for (int i = 0; i < n; i++) {
            if (placed[i].it.dim != dim || !placement_is_shard(&placed[i].it) ||
                placed[i].order != order || placed[i].axis < 0)
                continue;
            if (placed[i].it.kind != PLACE_SHARD) {
                error_kind(r->scan->err, ERROR_UNSUPPORTED,
                           "dim %d is strided over axes in another order", dim);
                return pins_fail_at(r, at);
            }
            if (!pins_add_axis(r, placed[i].axis, false, &axes))
                return false;
        }
    r->used &= ~cut_atoms(&r->out->sharding.dim[dim]);
    return pins_set_dim(r, dim, &axes, false);
}

/* The dims whose axes have an explicit order, or another order than in our mesh. */
static uint32_t reordered(const PlacedAxis *placed, int n)
{
    uint32_t dims = 0;
    for (int i = 0; i < n; i++)
        for (int k = i; k < n; k++)
            if (placement_is_shard(&placed[i].it) && placement_is_shard(&placed[k].it) &&
                placed[i].it.dim == placed[k].it.dim &&
                (placed[i].order > 0 || (placed[k].axis >= 0 && placed[i].axis > placed[k].axis)))
                dims |= 1u << placed[i].it.dim;
    return dims;
}

static bool use_placed(PinsReader *r, const PlacedAxis *placed, int n, size_t at)
{
    const Mesh *mesh = r->text->mesh;
    Placement ours[MESH_AXES_MAX];
    uint32_t dims = reordered(placed, n);
    for (int i = 0; i < mesh->n_axes; i++)
        ours[i] = (Placement){.kind = PLACE_REPLICATE, .factor = 1};
    for (int i = 0; i < n; i++)
        if (placed[i].axis >= 0 &&
            !(placement_is_shard(&placed[i].it) && dims >> placed[i].it.dim & 1))
            ours[placed[i].axis] = placed[i].it;
    Sharding sharding;
    if (!placements_sharding(ours, &r->out->shape, mesh, &sharding, r->scan->err))
        return pins_fail_at(r, at);
    r->out->sharding = sharding;
    r->used = sharding_atoms(&sharding) | sharding_partials(&sharding);
    for (int d = 0; d < r->out->shape.n_dims; d++)
        if (dims >> d & 1 && !cut_in_order(r, placed, n, d, at))
            return false;
    return true;
}

static bool fail_count(PinsReader *r, int n, size_t at)
{
    Buf ours = buf_new(r->text->scratch);
    mesh_format(r->text->mesh, &ours);
    int n_axes = r->text->has_mesh ? r->text->axes.n : r->text->mesh->n_axes;
    error_kind(r->scan->err, ERROR_RANK, "%d placement%s for the %d ax%s of the mesh%s%s", n,
               n == 1 ? "" : "s", n_axes, n_axes == 1 ? "is" : "es", r->text->has_mesh ? "" : " ",
               r->text->has_mesh ? "" : ours.s);
    return pins_fail_at(r, at);
}

bool pins_placements(PinsReader *r, char close, bool joined, size_t at)
{
    PlacedAxis placed[PINS_AXES_MAX];
    int n = 0, n_axes = r->text->has_mesh ? r->text->axes.n : r->text->mesh->n_axes;
    r->out->placed = true;
    while (!close || !pins_accept(r->scan, close)) {
        PlacedAxis one;
        if (!read_placed(r, joined, &one))
            return false;
        if (n < PINS_AXES_MAX)
            placed[n] = one;
        n++;
        if (!close)
            break;
        if (!pins_accept(r->scan, ',') && !joined && pins_peek(r->scan) != close)
            return pins_expect(r->scan, close);
    }
    if (n != n_axes)
        return fail_count(r, n, at);
    for (int i = 0; i < n; i++)
        if (!pins_axis_of_number(r, i, &placed[i].axis))
            return pins_fail_at(r, at);
    return use_placed(r, placed, n, at);
}
