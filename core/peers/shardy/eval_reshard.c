/* eval_reshard.c - the verb `reshard.collectives` of the eval protocol (conformance README).
 *
 * The search of reshard.h with the cost model of the request. n is the product of a step's axis
 * sizes, s and t are the bytes that a rank holds before and after it, hops = ceil(log2 n):
 *     slice 0 · all_gather hops alpha + (n-1)/n t/B · all_to_all, reduce_scatter the same with s
 *     all_reduce twice that · permute alpha + s/B
 * Sizes are padded: a dim of size d over m ranks is ceil(d/m), whatever the order of axes. Axes may
 * be split at any divisor: between the borders that source and target use, each order of the prime
 * parts is tried. The two shardings may be on meshes that order the devices differently. Between
 * meshes with different axes the value is gathered on the first and sliced on the second.
 */
#include "core/peers/shardy/tables.h"

#include "core/layout/json_read.h"
#include "core/reshard/search.h"
#include "core/peers/shardy/tensor_sharding.h"

#include <inttypes.h>
#include <math.h>

/* SPLITS_MAX: orders of prime parts that are tried. */
enum { SPLITS_MAX = 36, PRIMES_MAX = 20, OFFERS = 1000000 };

typedef struct {
    const char *name; /* of the mesh; "" if the request has only one */
    const Mesh *mesh;
    TensorSharding sharding;
} End;

typedef struct {
    Shape shape;
    End from, to;
    double unit; /* bytes of an element */
    double alpha_us, byte_us;
} ReshardRequest;

/* Parts of axes, major first: each of prime size, none across a border. */
typedef struct {
    int n;
    AxisRef at[ATOMS_MAX];
} MeshParts;

/* ---- reading ---- */

static bool read_mesh(Arena *arena, const Json *request, const Json *sharding, End *out, Error *err)
{
    const Json *meshes = json_get(request, "meshes"), *mesh = json_get(request, "mesh");
    out->name = "";
    if (meshes) {
        const char *first = json_size(meshes) > 0 ? json_key_at(meshes, 0) : "";
        out->name = arena_str(arena, json_str(json_get(sharding, "mesh"), first));
        mesh = json_get(meshes, out->name);
    }
    if (!mesh)
        return error_kind(err, ERROR_UNBOUND, "no mesh '%s' in the request", out->name);
    out->mesh = mesh_from_json(arena, mesh, err);
    return out->mesh != NULL;
}

static bool read_end(Arena *arena, const Json *json, const char *key, int n_dims, End *out,
                     Error *err)
{
    const Json *sharding = json_get(json, key);
    return read_mesh(arena, json, sharding, out, err) &&
           tensor_sharding_from_json(out->mesh, n_dims, sharding, &out->sharding, err);
}

static bool read_numbers(const Json *json, ReshardRequest *out, Error *err)
{
    const Json *model = json_get(json, "cost_model");
    double bytes = json_real(json_get(json, "bytes"), -1);
    double rate = json_real(json_get(model, "gb_per_s"), -1);
    out->alpha_us = json_real(json_get(model, "alpha_us"), -1);
    out->byte_us = 1e-3 / rate;
    if (!(bytes >= 0 && bytes < 1e30))
        return error_set(err, "\"bytes\" must be the size of the whole tensor");
    if (!(rate > 0 && isfinite(out->byte_us)) || !(out->alpha_us >= 0 && out->alpha_us < 1e30))
        return error_set(err, "\"cost_model\" needs \"alpha_us\" and \"gb_per_s\"");
    int64_t elements = shape_elements(&out->shape);
    out->unit = elements > 0 ? bytes / (double)elements : 0;
    return true;
}

/* True when an axis that is partial in `to` is not entirely partial in `from`. */
static bool becomes_partial(const AxisList *from, const AxisList *to)
{
    for (int i = 0; i < to->n; i++) {
        bool held = false;
        for (int k = 0; k < from->n; k++)
            held |= axis_ref_contains(&from->at[k], &to->at[i]);
        if (!held)
            return true;
    }
    return false;
}

static bool read_request(Arena *arena, const Json *json, ReshardRequest *out, Error *err)
{
    if (!json_read_shape(json_get(json, "shape"), &out->shape, err))
        return false;
    int n_dims = (int)out->shape.n_dims;
    if (!read_end(arena, json, "from", n_dims, &out->from, err) ||
        !read_end(arena, json, "to", n_dims, &out->to, err) || !read_numbers(json, out, err))
        return false;
    if (becomes_partial(&out->from.sharding.unreduced, &out->to.sharding.unreduced))
        return error_kind(err, ERROR_UNSUPPORTED, "a value cannot be made partial");
    return true;
}

/* ---- parts of axes ---- */

/* Inserts the borders that a list of axes sets on an axis, ascending and each once. */
static void mark_borders(const AxisList *list, int axis, int64_t *border, int *n)
{
    for (int i = 0; i < list->n; i++) {
        if (list->at[i].axis != axis)
            continue;
        int64_t ends[2] = {list->at[i].pre, (int64_t)list->at[i].pre * list->at[i].size};
        for (int e = 0; e < 2; e++) {
            int at = 0;
            while (at < *n && border[at] < ends[e])
                at++;
            if (at < *n && border[at] == ends[e])
                continue;
            for (int k = (*n)++; k > at; k--)
                border[k] = border[k - 1];
            border[at] = ends[e];
        }
    }
}

/* The borders of an axis, ascending from 1 to its size; an error when they do not divide each
 * other.
 */
static bool axis_borders(const ReshardRequest *request, int axis, int64_t *border, int *n,
                         Error *err)
{
    AxisList whole = {.n = 1, .at = {axis_ref_whole(request->from.mesh, axis)}};
    *n = 0;
    mark_borders(&whole, axis, border, n);
    const TensorSharding *ends[2] = {&request->from.sharding, &request->to.sharding};
    for (int e = 0; e < 2; e++) {
        mark_borders(&ends[e]->unreduced, axis, border, n);
        for (int d = 0; d < ends[e]->n_dims; d++)
            mark_borders(&ends[e]->dim[d].axes, axis, border, n);
    }
    for (int i = 0; i + 1 < *n; i++)
        if (border[i] < 1 || border[i + 1] % border[i] != 0)
            return error_kind(err, ERROR_UNSUPPORTED, "parts of axis '%s' overlap only partly",
                              request->from.mesh->axes[axis].name);
    return true;
}

/* Prime factors, ascending. */
static int prime_factors(int64_t size, int64_t *prime)
{
    int n = 0;
    for (int64_t p = 2; size > 1; p = p * p > size ? size : p + 1)
        for (; size % p == 0; size /= p)
            prime[n++] = p;
    return n;
}

static void reverse(int64_t *list, int n)
{
    for (int a = 0, b = n - 1; a < b; a++, b--) {
        int64_t held = list[a];
        list[a] = list[b];
        list[b] = held;
    }
}

/* The next permutation of a list that may have equal members. After the last it restores the first
 * and returns false. */
static bool next_order(int64_t *list, int n)
{
    int i = n - 2, k = n - 1;
    while (i >= 0 && list[i] >= list[i + 1])
        i--;
    if (i < 0) {
        reverse(list, n);
        return false;
    }
    while (list[k] <= list[i])
        k--;
    int64_t held = list[i];
    list[i] = list[k];
    list[k] = held;
    reverse(list + i + 1, n - i - 1);
    return true;
}

/* The pieces of axes between borders, each with its primes in the order being tried. */
typedef struct {
    int n;
    struct {
        int axis, n_primes;
        int64_t pre, prime[PRIMES_MAX];
    } piece[ATOMS_MAX];
} Pieces;

static bool find_pieces(const ReshardRequest *request, Pieces *out, Error *err)
{
    const Mesh *mesh = request->from.mesh;
    out->n = 0;
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        int64_t border[4 * AXIS_REFS_MAX];
        int n;
        if (!axis_borders(request, axis, border, &n, err))
            return false;
        for (int i = 0; i + 1 < n; i++) {
            out->piece[out->n].axis = axis;
            out->piece[out->n].pre = border[i];
            out->piece[out->n].n_primes =
                prime_factors(border[i + 1] / border[i], out->piece[out->n].prime);
            out->n++;
        }
    }
    return true;
}

static bool next_pieces(Pieces *pieces)
{
    for (int i = 0; i < pieces->n; i++)
        if (next_order(pieces->piece[i].prime, pieces->piece[i].n_primes))
            return true;
    return false;
}

static MeshParts parts_of(const Pieces *pieces)
{
    MeshParts parts = {0};
    for (int i = 0; i < pieces->n; i++) {
        int64_t pre = pieces->piece[i].pre;
        for (int k = 0; k < pieces->piece[i].n_primes; k++) {
            int64_t prime = pieces->piece[i].prime[k];
            parts.at[parts.n++] = (AxisRef){pieces->piece[i].axis, (int)pre, (int)prime};
            pre *= prime;
        }
    }
    return parts;
}

/* ---- the space ---- */

/* Appends the parts that a list of axes covers. */
static int parts_in(const MeshParts *parts, const AxisList *list, uint8_t *atom)
{
    int n = 0;
    for (int i = 0; i < list->n; i++)
        for (int a = 0; a < parts->n; a++)
            if (axis_ref_contains(&list->at[i], &parts->at[a]))
                atom[n++] = (uint8_t)a;
    return n;
}

static void place_end(const MeshParts *parts, const TensorSharding *sharding, const int *slot,
                      Layout *out)
{
    uint8_t atom[ATOMS_MAX];
    for (int d = 0; d < sharding->n_dims; d++) {
        int n = parts_in(parts, &sharding->dim[d].axes, atom);
        for (int i = 0; i < n; i++)
            out->place[atom[i]] = place_in(slot[d], i);
    }
    int n = parts_in(parts, &sharding->unreduced, atom);
    for (int i = 0; i < n; i++)
        out->place[atom[i]] = ATOM_PARTIAL;
}

/* Among the dims that neither end shards, the one that the most devices divide, or -1. */
static int spare_dim(const ReshardRequest *request)
{
    int spare = -1;
    int64_t most = 0;
    for (int d = 0; d < request->shape.n_dims; d++) {
        int64_t divides = common_divisor(request->shape.dim[d], request->from.mesh->n_devices);
        if (request->from.sharding.dim[d].axes.n == 0 && request->to.sharding.dim[d].axes.n == 0 &&
            request->shape.dim[d] > 1 && divides > most) {
            most = divides;
            spare = d;
        }
    }
    return spare;
}

static void add_slots(const ReshardRequest *request, Space *space, int *slot)
{
    int spare = spare_dim(request);
    for (int d = 0; d < request->shape.n_dims; d++) {
        int64_t size = request->shape.dim[d];
        bool cut =
            request->from.sharding.dim[d].axes.n > 0 || request->to.sharding.dim[d].axes.n > 0;
        slot[d] = space->n_slots;
        if (cut || d == spare)
            space->slot[space->n_slots++] = (Slot){.size = size, .dim = (uint8_t)d};
        else
            space->unit *= (double)size;
    }
}

static double alpha_hops(const ReshardRequest *request, int64_t n)
{
    int hops = 0;
    while (((int64_t)1 << hops) < n)
        hops++;
    return hops * request->alpha_us;
}

/* Context of step_us() and least_us(). */
typedef struct {
    const ReshardRequest *request;
    MeshParts parts;
} Model;

static double step_us(void *context, StepKind kind, AtomSet atoms, double bytes)
{
    const Model *model = context;
    int64_t n = 1;
    for (int a = 0; a < model->parts.n; a++)
        if (atoms >> a & 1)
            n *= model->parts.at[a].size;
    double us = bytes * model->request->byte_us;
    if (kind == STEP_PERMUTE)
        return model->request->alpha_us + us;
    us = alpha_hops(model->request, n) + (double)(n - 1) / (double)n * us;
    return kind == STEP_ALL_REDUCE ? 2 * us : us;
}

static double least_us(void *context, int64_t n)
{
    const Model *model = context;
    return alpha_hops(model->request, n);
}

static void make_space(Model *model, Space *out)
{
    const ReshardRequest *request = model->request;
    *out = (Space){.n_dims = (int)request->shape.n_dims, .unit = request->unit, .padded = true};
    out->n_atoms = model->parts.n;
    for (int a = 0; a < out->n_atoms; a++) {
        out->size[a] = model->parts.at[a].size;
        out->of_mesh[a] = out->whole[a] = (AtomSet)1 << a;
        out->reduce[a] = REDUCE_SUM;
    }
    int slot[DIMS_MAX] = {0};
    add_slots(request, out, slot);
    place_end(&model->parts, &request->from.sharding, slot, &out->from);
    place_end(&model->parts, &request->to.sharding, slot, &out->to);
    for (int a = 0; a < out->n_atoms; a++) {
        if (out->to.place[a] == ATOM_PARTIAL)
            out->kept |= (AtomSet)1 << a;
        out->from.moved |= place_cuts(out->from.place[a]);
    }
    if (meshes_same_devices(request->from.mesh, request->to.mesh))
        out->from.moved = 0;
    Least one = {request->alpha_us, request->byte_us};
    Pricing pricing = {.context = model,
                       .step_us = step_us,
                       .least_drop_us = least_us,
                       .least_reduce_us = least_us,
                       .drop_byte_us = request->byte_us,
                       .reduce_byte_us = request->byte_us,
                       .permute = one,
                       .permutes_alike = true,
                       .grow = one};
    space_price(out, &pricing);
    out->limit = INFINITY;
    out->most_offers = OFFERS;
    space_set_goal(out);
}

/* ---- answering ---- */

static Json *layout_json(Arena *arena, const ReshardRequest *request, const Model *model,
                         const Space *space, const Layout *layout, const End *end)
{
    Lists lists;
    space_lists(space, layout, &lists);
    TensorSharding out = tensor_sharding_open(space->n_dims);
    for (int d = 0; d < space->n_dims; d++)
        out.dim[d].open = false;
    for (int s = 0; s < space->n_slots; s++)
        for (int i = 0; i < lists.n[s]; i++)
            axis_list_push(&out.dim[space->slot[s].dim].axes, request->from.mesh,
                           model->parts.at[lists.atom[s][i]]);
    for (int a = 0; a < space->n_atoms; a++)
        if (layout->place[a] == ATOM_PARTIAL)
            axis_list_push(&out.unreduced, request->from.mesh, model->parts.at[a]);
    Json *json = tensor_sharding_to_json(arena, request->from.mesh, &out);
    if (end->name[0])
        json_set_str(json, "mesh", end->name);
    return json;
}

static Json *step_json(Arena *arena, const Model *model, StepKind kind, AtomSet atoms, Json *to)
{
    AxisList axes = {0};
    for (int a = 0; a < model->parts.n; a++)
        if (atoms >> a & 1)
            axis_list_push(&axes, model->request->from.mesh, model->parts.at[a]);
    Json *step = json_object();
    json_set_str(step, "kind", step_kind_name(kind));
    json_set(step, "axes", axis_list_to_json(arena, model->request->from.mesh, &axes));
    json_set(step, "to", to);
    return step;
}

/* Where nothing is sharded, a slice over no axes changes the mesh. */
static void add_steps(Arena *arena, const ReshardRequest *request, const Model *model,
                      const Space *space, const Route *route, Json *steps)
{
    const End *at =
        strcmp(request->from.name, request->to.name) != 0 ? &request->from : &request->to;
    const Layout *last = &space->from;
    for (int i = 0; i < route->n; i++) {
        const Hop *hop = &route->hop[i];
        if (at == &request->from && !last->moved && hop->kind != STEP_PERMUTE) {
            at = &request->to;
            json_add(steps, step_json(arena, model, STEP_SLICE, 0,
                                      layout_json(arena, request, model, space, last, at)));
        }
        at = hop->kind == STEP_PERMUTE ? &request->to : at;
        json_add(steps, step_json(arena, model, hop->kind, hop->atoms,
                                  layout_json(arena, request, model, space, &hop->to, at)));
        last = &hop->to;
    }
}

/* Appends the cheapest steps between two shardings on meshes with the same axes. */
static bool search_steps(Arena *arena, const ReshardRequest *request, Json *steps, Route *best,
                         Error *err)
{
    Pieces pieces;
    if (!find_pieces(request, &pieces, err))
        return false;
    Searcher *searcher = searcher_new(arena);
    Model model = {.request = request}, best_model = model;
    Space *space = arena_make(arena, Space), *best_space = arena_make(arena, Space);
    Route route;
    int n_tried = 0;
    *best = (Route){.us = INFINITY};
    do {
        model.parts = parts_of(&pieces);
        make_space(&model, space);
        if (!search_route(searcher, arena, space, best->us * (1 - 1e-9), NULL, 0, &route))
            continue;
        *best = route;
        best_model = model;
        *best_space = *space;
    } while (next_pieces(&pieces) && ++n_tried < SPLITS_MAX);
    add_steps(arena, request, &best_model, best_space, best, steps);
    return true;
}

static bool is_replicated(const TensorSharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++)
        if (sharding->dim[d].axes.n > 0)
            return false;
    return sharding->unreduced.n == 0;
}

static End replicated(const End *end)
{
    End out = *end;
    out.sharding = tensor_sharding_open(end->sharding.n_dims);
    for (int d = 0; d < out.sharding.n_dims; d++)
        out.sharding.dim[d].open = false;
    return out;
}

/* Meshes with different axes have no shards in common that could be moved: the value is gathered on
 * one and sliced on the other. */
static bool cross_steps(Arena *arena, const ReshardRequest *request, Json *steps, Route *out,
                        Error *err)
{
    const Mesh *from = request->from.mesh, *to = request->to.mesh;
    ReshardRequest *gather = arena_make(arena, ReshardRequest),
                   *slice = arena_make(arena, ReshardRequest);
    Route gathered, sliced;
    bool moves = !is_replicated(&request->from.sharding) || !is_replicated(&request->to.sharding);
    if (moves && from->n_devices != to->n_devices)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "the two meshes have %" PRId64 " and %" PRId64 " devices",
                          from->n_devices, to->n_devices);
    if (request->to.sharding.unreduced.n > 0)
        return error_kind(err, ERROR_UNSUPPORTED, "a value cannot be made partial");
    *gather = *slice = *request;
    gather->to = replicated(&request->from);
    slice->from = replicated(&request->to);
    if (!search_steps(arena, gather, steps, &gathered, err))
        return false;
    Json *onto = json_object(), *none = json_array();
    Json *lies = tensor_sharding_to_json(arena, to, &slice->from.sharding);
    json_set_str(lies, "mesh", request->to.name);
    json_set_str(onto, "kind", step_kind_name(STEP_SLICE));
    json_set(onto, "axes", none);
    json_set(onto, "to", lies);
    json_add(steps, onto);
    bool ok = search_steps(arena, slice, steps, &sliced, err);
    *out = (Route){.us = gathered.us + sliced.us, .bound_us = gathered.bound_us};
    return ok;
}

bool eval_reshard(const char *verb, Arena *arena, const Json *json, Json *answer, Error *err)
{
    (void)verb;
    ReshardRequest *request = arena_make(arena, ReshardRequest);
    Route route;
    Json *steps = json_array();
    bool ok = read_request(arena, json, request, err) &&
              (meshes_same_axes(request->from.mesh, request->to.mesh)
                   ? search_steps(arena, request, steps, &route, err)
                   : cross_steps(arena, request, steps, &route, err));
    if (!ok) {
        json_free(steps);
        return false;
    }
    json_set(answer, "steps", steps);
    json_set_real(answer, "us", route.us);
    json_set_real(answer, "bound_us", route.bound_us);
    return true;
}
