#include "core/peers/torch/tables.h"

#include "core/layout/json_read.h"
#include "core/peers/torch/redistribute.h"

typedef struct {
    Shape shape;
    Placement from[MESH_AXES_MAX], to[MESH_AXES_MAX];
    Redistribution asked; /* points to the above */
} RedistributeRequest;

static bool read_planner(const Json *request, RedistributePlanner *out, Error *err)
{
    Str system = json_str(json_get(request, "system"), "torch");
    Str planner = json_str(json_get(request, "planner"), "");
    *out = PLANNER_VESCALE;
    if (str_eq(system, STR("vescale")))
        return planner.n == 0 || error_kind(err, ERROR_UNSUPPORTED, "veScale has one planner");
    if (!str_eq(system, STR("torch")))
        return error_kind(err, ERROR_UNSUPPORTED,
                          "'%.*s' is not a system that redistributes: torch, vescale",
                          STR_ARG(system));
    *out = PLANNER_DEFAULT;
    if (str_eq(planner, STR("greedy")))
        *out = PLANNER_GREEDY;
    else if (str_eq(planner, STR("graph")))
        *out = PLANNER_GRAPH;
    else if (planner.n > 0)
        return error_kind(err, ERROR_UNSUPPORTED, "the planners are greedy and graph");
    return true;
}

static bool read_request(Arena *arena, const Json *json, RedistributeRequest *out, Error *err)
{
    Redistribution *asked = &out->asked;
    *asked = (Redistribution){.shape = &out->shape, .from = out->from, .to = out->to};
    if (!read_planner(json, &asked->planner, err) ||
        !json_read_shape(json_get(json, "shape"), &out->shape, err) ||
        !json_read_dtype(json_get(json, "dtype"), &asked->dtype, err))
        return false;
    asked->mesh = mesh_from_json(arena, json_get(json, "mesh"), err);
    int64_t n_dims = out->shape.n_dims;
    return asked->mesh &&
           json_read_placements(json_get(json, "from"), asked->mesh, n_dims, out->from, err) &&
           json_read_placements(json_get(json, "to"), asked->mesh, n_dims, out->to, err);
}

static Json *placement_json(Arena *arena, const Placement *placement)
{
    Buf text = buf_new(arena);
    placement_format(placement, false, &text);
    return json_from_str(buf_str(&text));
}

static Json *move_json(Arena *arena, const Mesh *mesh, const TorchMove *move)
{
    Json *out = json_object(), *axes = json_array();
    json_add(axes, json_from_str(str_from(mesh->axes[move->axis].name)));
    json_set_str(out, "kind", move_name(move->kind));
    json_set(out, "axes", axes);
    json_set(out, "from", placement_json(arena, &move->from));
    json_set(out, "to", placement_json(arena, &move->to));
    return out;
}

bool eval_redistribute(const char *verb, Arena *arena, const Json *request, Json *answer,
                       Error *err)
{
    (void)verb;
    RedistributeRequest asked;
    TorchMoves moves = {0};
    if (!read_request(arena, request, &asked, err) || !redistribute_allowed(&asked.asked, err) ||
        !redistribute_plan(arena, &asked.asked, &moves, err))
        return false;
    const Mesh *mesh = asked.asked.mesh;
    Json *placements = json_array(), *steps = json_array();
    for (int i = 0; i < mesh->n_axes; i++)
        json_add(placements, placement_json(arena, &asked.to[i]));
    for (int i = 0; i < moves.n; i++)
        json_add(steps, move_json(arena, mesh, &moves.at[i]));
    json_set(answer, "placements", placements);
    json_set_int(answer, "comm", redistribute_n_comm(mesh, &moves));
    json_set(answer, "steps", steps);
    return true;
}
