#include "core/peers/nnscaler/eval_rvd.h"

#include "core/layout/json_read.h"
#include "core/peers/nnscaler/rvd.h"

#include <stdlib.h>

/* ---- reading ---- */

static bool read_rvd(const Json *list, const char *what, Rvd *out, Error *err)
{
    return json_read_ints(list, what, RVD_PARTS_MAX, out->at, &out->n, err);
}

static bool read_devices(Arena *arena, const Json *list, const char *what, const int32_t **out,
                         int *n, Error *err)
{
    if (!list || json_is_null(list))
        return true;
    int64_t *number = arena_array(arena, int64_t, RVD_DEVICES_MAX);
    if (!json_read_ints(list, what, RVD_DEVICES_MAX, number, n, err))
        return false;
    int32_t *device = arena_array(arena, int32_t, *n);
    for (int i = 0; i < *n; i++) {
        if (number[i] < 0 || number[i] > INT32_MAX)
            return error_kind(err, ERROR_OUT_OF_RANGE, "%s has an entry that is not a device",
                              what);
        device[i] = (int32_t)number[i];
    }
    *out = device;
    return true;
}

static bool read_request(Arena *arena, const Json *json, RvdRequest *out, Error *err)
{
    *out = (RvdRequest){.async_comm = json_bool(json_get(json, "async_comm"), false)};
    return json_read_shape(json_get(json, "shape"), &out->shape, err) &&
           read_rvd(json_get(json, "from"), "from", &out->from, err) &&
           read_rvd(json_get(json, "to"), "to", &out->to, err) &&
           read_devices(arena, json_get(json, "from_devices"), "from_devices", &out->from_devices,
                        &out->n_from_devices, err) &&
           read_devices(arena, json_get(json, "to_devices"), "to_devices", &out->to_devices,
                        &out->n_to_devices, err);
}

/* ---- answering ---- */

static Json *path_json(const Rvd *path, int n)
{
    Json *list = json_array();
    for (int i = 0; i < n; i++)
        json_add(list, json_ints(path[i].at, path[i].n));
    return list;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The devices of each group, ascending. */
static Json *groups_json(Arena *arena, const RvdStep *step)
{
    int n = step->n_sources + (rvd_kind_crosses(step->kind) ? step->n_targets : 0);
    int64_t *group = arena_array(arena, int64_t, n);
    Json *groups = json_array();
    for (int i = 0; i < step->n_groups; i++) {
        for (int k = 0; k < n; k++)
            group[k] = step->device[i * n + k];
        qsort(group, (size_t)n, sizeof *group, compare_numbers);
        json_add(groups, json_ints(group, n));
    }
    return groups;
}

static Json *steps_json(Arena *arena, const RvdPlan *plan)
{
    Json *steps = json_array();
    for (int i = 0; i < plan->n_steps; i++) {
        Json *step = json_object();
        json_set_str(step, "kind", rvd_kind_name(plan->step[i].kind));
        json_set(step, "groups", groups_json(arena, &plan->step[i]));
        json_add(steps, step);
    }
    return steps;
}

bool eval_rvd(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    RvdRequest asked;
    RvdPlan plan;
    if (!read_request(arena, request, &asked, err) || !rvd_reshard(arena, &asked, &plan, err))
        return false;
    json_set_int(answer, "cost", plan.cost);
    if (plan.n_from == plan.n_path) {
        json_set(answer, "path", path_json(plan.path, plan.n_path));
    } else {
        json_set(answer, "path_from", path_json(plan.path, plan.n_from));
        json_set(answer, "path_to", path_json(plan.path + plan.n_from, plan.n_path - plan.n_from));
    }
    json_set(answer, "steps", steps_json(arena, &plan));
    if (!plan.direct) {
        json_set_bool(answer, "direct", false);
        json_set_int(answer, "steps_cost", plan.steps_cost);
    }
    return true;
}
