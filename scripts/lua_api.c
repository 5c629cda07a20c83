#include "scripts/lua_api.h"

#include "scripts/register/lua_kernel.h"
#include "scripts/lua_machine.h"
#include "scripts/lua_model.h"
#include "scripts/lua_place.h"
#ifndef WITHOUT_paddle
#include "scripts/peers/paddle.h"
#endif
#ifndef WITHOUT_tapestry
#include "scripts/peers/tapestry.h"
#endif
#ifndef WITHOUT_torch
#include "scripts/peers/torch.h"
#endif

#include <string.h>

/* In the order of help. What a peer (core/base/peer.h) gives scripts is left out with it. */
const LuaTable lua_tables[] = {
    {"", LUA_DEFINED, defined_rows},
    {"graph", LUA_FIELDS, select_fields},
    {"graph", LUA_METHODS, select_methods},
    {"graph", LUA_METHODS, graph_methods},
    {"graph", LUA_METHODS, assume_methods},
    {"graph", LUA_METHODS, store_methods},
    {"graph", LUA_METHODS, search_methods},
    {"graph", LUA_METHODS, role_methods},
    {"graph", LUA_METHODS, partition_methods},
    {"graph", LUA_METHODS, place_methods},
    {"graph", LUA_METHODS, segment_graph_methods},
    {"graph", LUA_METHODS, recompute_methods},
    {"graph", LUA_METHODS, stage_methods},
    {"graph", LUA_METHODS, train_methods},
    {"node", LUA_FIELDS, node_fields},
    {"node", LUA_FIELDS, more_node_fields},
    {"node", LUA_METHODS, node_methods},
    {"node", LUA_METHODS, more_node_methods},
    {"node_filter", LUA_FIELDS, filter_fields},
    {"segment", LUA_FIELDS, segment_fields},
    {"segment", LUA_METHODS, segment_methods},
    {"schedule_block", LUA_FIELDS, schedule_block_fields},
    {"op_plan", LUA_FIELDS, op_plan_fields},
    {"pas_settings", LUA_FIELDS, pas_config_fields},
    {"tensor", LUA_FIELDS, tensor_fields},
    {"tensor", LUA_FIELDS, more_tensor_fields},
    {"tensor", LUA_METHODS, tensor_methods},
    {"algorithm", LUA_METHODS, algorithm_methods},
    {"resource", LUA_FIELDS, resource_fields},
    {"resource", LUA_METHODS, resource_methods},
    {"mesh", LUA_FIELDS, mesh_fields},
    {"mesh_axis", LUA_FIELDS, mesh_axis_fields},
    {"cut_table", LUA_FIELDS, cut_fields},
    {"partition_table", LUA_FIELDS, partition_fields},
    {"reshard", LUA_FIELDS, reshard_fields},
    {"weight_role", LUA_FIELDS, role_fields},
    {"plan_totals", LUA_FIELDS, plan_totals_fields},
    {"search_answer", LUA_FIELDS, search_answer_fields},
    {"part", LUA_FIELDS, part_fields},
    {"part", LUA_METHODS, part_methods},
    {"", LUA_GLOBALS, policy_globals},
    {"", LUA_GLOBALS, register_globals},
#ifndef WITHOUT_tapestry
    {"", LUA_GLOBALS, template_globals},
#endif
    {"register_options", LUA_FIELDS, register_fields},
    {"rule_input", LUA_FIELDS, rule_input_fields},
    {"cut_rule", LUA_FIELDS, cut_rule_fields},
    {"op_part", LUA_FIELDS, op_part_fields},
    {"op_tensor", LUA_FIELDS, op_tensor_fields},
    {"op_collective", LUA_FIELDS, op_collective_fields},
#ifndef WITHOUT_paddle
    {"", LUA_GLOBALS, rule_globals},
    {"spmd", LUA_GLOBALS, spmd_functions},
    {"spmd_tensor", LUA_FIELDS, spmd_tensor_fields},
    {"spmd_transform", LUA_FIELDS, spmd_transform_fields},
    {"spmd_rule", LUA_FIELDS, spmd_rule_fields},
    {"", LUA_TYPES, spmd_types},
#endif
#ifndef WITHOUT_torch
    {"", LUA_GLOBALS, strategy_globals},
    {"strategy_input", LUA_FIELDS, strategy_input_fields},
    {"strategy_ruling", LUA_FIELDS, strategy_ruling_fields},
    {"", LUA_TYPES, strategy_types},
#endif
    {"", LUA_TYPES, type_rows},
    {"", LUA_STANDARD, standard_rows},
    {"", LUA_GLOBALS, include_globals},
    {"model", LUA_FIELDS, model_fields},
    {"model", LUA_METHODS, model_methods},
    {"model", LUA_METHODS, config_methods},
    {"value", LUA_FIELDS, value_fields},
    {NULL, LUA_GLOBALS, NULL},
};

const EvalVerb *lua_eval_verb(Str name)
{
    (void)name;
#ifndef WITHOUT_tapestry
    return eval_verb_in(template_eval_verbs, name);
#else
    return NULL;
#endif
}

bool lua_api_has(const char *name)
{
    for (const LuaTable *table = lua_tables; table->entries; table++)
        for (const LuaEntry *it = table->entries; it->name; it++)
            if (table->kind == LUA_GLOBALS && !*table->of && strcmp(it->name, name) == 0)
                return true;
    return false;
}

void lua_api_set(lua_State *L, const char *of, LuaTableKind kind)
{
    for (const LuaTable *table = lua_tables; table->entries; table++) {
        if (table->kind != kind || strcmp(table->of, of) != 0)
            continue;
        for (const LuaEntry *it = table->entries; it->name; it++) {
            if (!it->function)
                continue;
            lua_pushcfunction(L, it->function);
            lua_setfield(L, -2, it->name);
        }
    }
}

const ScriptEntry *lua_api_rows(Arena *arena)
{
    ScriptEntries rows = {0};
    for (const LuaTable *table = lua_tables; table->entries; table++)
        for (const LuaEntry *it = table->entries; it->name; it++) {
            ScriptEntry row = {(ScriptKind)table->kind, table->of, it->name, it->use, it->help};
            vec_push(arena, &rows, row);
        }
    machine_entries(arena, &rows);
    vec_push(arena, &rows, ((ScriptEntry){0}));
    return rows.at;
}
