#include "core/layout/json_read.h"
#include "core/layout/runs.h"
#include "core/layout/placement.h"

#include <assert.h>
#include <inttypes.h>

/* Pieces and rows of an answer: what a line of JSON may hold. */
enum { ANSWER_MAX = 1 << 20 };

/* A parsed request: rvd[0..n_dims+2), or a mesh. */
typedef struct {
    Shape shape;
    int64_t n_ranks;
    const Mesh *mesh; /* NULL if rvd is given */
    Placement placements[MESH_AXES_MAX];
    int order[MESH_AXES_MAX]; /* mesh axes in the order they are applied */
    int64_t rvd[DIMS_MAX + 2];
} LayoutRequest;

/* ---- reading ---- */

static bool read_order(const Json *list, LayoutRequest *request, Error *err)
{
    int64_t order[MESH_AXES_MAX] = {0};
    int n_axes = request->mesh->n_axes, n = n_axes;
    for (int i = 0; i < n_axes; i++)
        order[i] = i;
    if (list && !json_read_ints(list, "shard_order", MESH_AXES_MAX, order, &n, err))
        return false;
    unsigned seen = 0;
    for (int i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n_axes)
            return error_kind(err, ERROR_OUT_OF_RANGE, "no axis %" PRId64 " in this mesh",
                              order[i]);
        seen |= 1u << order[i];
        request->order[i] = (int)order[i];
    }
    return (n == n_axes && seen == (1u << n_axes) - 1) ||
           error_set(err, "shard_order lists each axis of the mesh once");
}

/* [R,V,D1..Dn]: the devices are row-major in it, R outermost. */
static bool read_rvd(const Json *list, LayoutRequest *request, Error *err)
{
    int n;
    if (!json_read_ints(list, "rvd", DIMS_MAX + 2, request->rvd, &n, err))
        return false;
    if (n != request->shape.n_dims + 2)
        return error_kind(err, ERROR_RANK, "rvd has R, V and a number for each of %" PRId64 " dims",
                          request->shape.n_dims);
    request->n_ranks = 1;
    for (int i = 0; i < n; i++) {
        if (request->rvd[i] < 1 || request->rvd[i] > MESH_DEVICES_MAX / request->n_ranks)
            return error_kind(err, ERROR_OUT_OF_RANGE, "rvd is of 1 to %d devices",
                              MESH_DEVICES_MAX);
        request->n_ranks *= request->rvd[i];
        if (i >= 2 && request->shape.dim[i - 2] % request->rvd[i] != 0)
            return error_kind(err, ERROR_NOT_DIVISIBLE,
                              "%" PRId64 " parts do not divide a dim of %" PRId64, request->rvd[i],
                              request->shape.dim[i - 2]);
    }
    return true;
}

/* Refuses a request whose answer would be too long, before making it. */
static bool check_length(const LayoutRequest *request, Error *err)
{
    int64_t n_pieces = 1;
    for (int d = 0; d < request->shape.n_dims; d++) {
        n_pieces++;
        for (int i = 0; request->mesh && i < request->mesh->n_axes; i++) {
            const Placement *placement = &request->placements[i];
            int64_t size = request->shape.dim[d];
            if (placement_is_shard(placement) && placement->dim == d)
                n_pieces += placement->factor < size ? placement->factor : size;
            if (n_pieces > ANSWER_MAX)
                break;
        }
    }
    return (n_pieces <= ANSWER_MAX && n_pieces * request->n_ranks <= ANSWER_MAX) ||
           error_kind(err, ERROR_OUT_OF_RANGE, "the answer would have more than %d pieces",
                      ANSWER_MAX);
}

static bool read_request(Arena *arena, const Json *json, LayoutRequest *out, Error *err)
{
    if (!json_read_shape(json_get(json, "shape"), &out->shape, err))
        return false;
    if (json_get(json, "rvd"))
        return read_rvd(json_get(json, "rvd"), out, err) && check_length(out, err);
    out->mesh = mesh_from_json(arena, json_get(json, "mesh"), err);
    if (!out->mesh)
        return false;
    out->n_ranks = out->mesh->n_devices;
    return json_read_placements(json_get(json, "placements"), out->mesh, out->shape.n_dims,
                                out->placements, err) &&
           read_order(json_get(json, "shard_order"), out, err) && check_length(out, err);
}

/* ---- answering ---- */

/* The coordinate of a rank in component i of rvd. */
static int64_t rvd_coord(const LayoutRequest *request, int i, int64_t rank)
{
    for (int minor = (int)request->shape.n_dims + 1; minor > i; minor--)
        rank /= request->rvd[minor];
    assert(request->rvd[i] >= 1);
    return rank % request->rvd[i];
}

static bool rank_runs(Arena *arena, const LayoutRequest *request, int dim, int64_t rank, Runs *out,
                      Error *err)
{
    int64_t size = request->shape.dim[dim];
    if (request->mesh)
        return placements_runs(arena, request->placements, request->order, request->mesh, dim, size,
                               rank, out, err);
    Runs whole = runs_whole(arena, size);
    return runs_strided(arena, &whole, 1, request->rvd[dim + 2], rvd_coord(request, dim + 2, rank),
                        out);
}

static Json *runs_json(const Runs *runs)
{
    Json *list = json_array();
    for (int i = 0; i < runs->n; i++)
        json_add(list, json_ints((int64_t[]){runs->at[i].start, runs->at[i].length}, 2));
    return list;
}

/* Adds what a rank holds to the lists of all ranks; *local is its shape. */
static bool add_rank(Arena *arena, const LayoutRequest *request, int64_t rank, Json *answer,
                     Shape *local, Error *err)
{
    Shape offset = {.n_dims = request->shape.n_dims};
    Json *runs = json_array();
    *local = offset;
    for (int d = 0; d < request->shape.n_dims; d++) {
        Runs held;
        if (!rank_runs(arena, request, d, rank, &held, err)) {
            json_free(runs);
            return false;
        }
        local->dim[d] = held.local_size;
        offset.dim[d] = held.n > 0 ? held.at[0].start : request->shape.dim[d];
        json_add(runs, runs_json(&held));
    }
    json_add(json_get(answer, "local_shape"), json_ints(local->dim, (int)local->n_dims));
    json_add(json_get(answer, "global_offset"), json_ints(offset.dim, (int)offset.n_dims));
    json_add(json_get(answer, "runs"), runs);
    if (!request->mesh)
        json_add(json_get(answer, "part"),
                 json_ints((int64_t[]){rvd_coord(request, 1, rank), request->rvd[1]}, 2));
    return true;
}

bool eval_layout(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    LayoutRequest asked = {0};
    if (!read_request(arena, request, &asked, err))
        return false;
    json_set(answer, "local_shape", json_array());
    json_set(answer, "global_offset", json_array());
    json_set(answer, "runs", json_array());
    if (!asked.mesh)
        json_set(answer, "part", json_array());

    bool even = true, empty = false;
    Shape first, local;
    for (int64_t rank = 0; rank < asked.n_ranks; rank++) {
        if (!add_rank(arena, &asked, rank, answer, &local, err))
            return false;
        if (rank == 0)
            first = local;
        even &= shape_equal(&local, &first);
        empty |= shape_elements(&local) == 0 && shape_elements(&asked.shape) > 0;
    }
    json_set_bool(answer, "even", even);
    json_set_bool(answer, "has_empty", empty);
    return true;
}
