#include "core/search/config_model.h"

#include "core/cost/layers.h"
#include "core/rules/roles.h"
#include "core/search/config_parts.h"
#include "core/session/model_settings.h"

static void read_units(const Inferred *model, Arena *scratch, ConfigSpace *space)
{
    MatmulRoles roles = roles_find(scratch, model);
    space->experts = 1;
    for (int i = 0; i < roles.n; i++) {
        const MatmulRole *role = &roles.at[i];
        const OpSpace *ops = program_space(model, role->op);
        if (role->expert >= 0 && ops->index[role->expert].size > space->experts)
            space->experts = ops->index[role->expert].size;
        if (role->role == WEIGHT_COLUMN && role->unit > 1 && role->units > 1) {
            int64_t n = role->head > 0 ? role->units * role->unit / role->head : role->units;
            space->heads = n > space->heads ? n : space->heads;
        }
        bool heads = role->role == WEIGHT_COLUMN && role->unit > 1 && role->units > 1;
        bool known = !heads;
        for (int u = 0; u < space->n_units; u++)
            known |= space->units[u] == role->units;
        if (!known && space->n_units < CONFIG_UNITS_MAX)
            space->units[space->n_units++] = role->units;
    }
}

static void read_sequence(const Session *session, ConfigSpace *space)
{
    const Graph *graph = session->graph;
    for (int i = 0; i < graph->n_inputs && space->sequence == 0; i++) {
        const Shape *shape = inferred_shape(session->inferred, graph->inputs[i]);
        if (shape && shape->n_dims >= 2 && shape->dim[1] > 1)
            space->sequence = shape->dim[1];
    }
}

bool config_model_read(Arena *arena, const SessionOptions *of, const SessionHooks *hooks,
                       ConfigSpace *space, bool *alike, Error *err)
{
    SessionOptions options = *of;
    options.policy = NULL;
    options.train = NULL;
    options.settings = model_settings_only(arena, &of->settings);
    vec_push(arena, &options.dims, ((DimBinding){STR("batch"), 1}));
    Session *session = session_open_model(&options, hooks, err);
    if (!session)
        return false;
    Arena *scratch = arena_new();
    int32_t *part = arena_array(scratch, int32_t, session->graph->n_ops);
    space->n_layers = layers_of_ops(scratch, session->inferred, part);
    bool config = options.config || str_ends(str_from(options.model), STR(".json"));
    *alike = config && layers_are_alike(session->inferred, part, space->n_layers);
    read_units(session->inferred, scratch, space);
    read_sequence(session, space);
    if (space->n_layers == 0)
        space->n_layers = 1;
    arena_free(scratch);
    session_close(session);
    return true;
}
