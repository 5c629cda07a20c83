#include "tui/state/act.h"

#include <ctype.h>

const Action explorer_actions[] = {
#define ACT(id, ...) {__VA_ARGS__, ACTION_EXPLORER, ACT_##id},
    EXPLORER_ACTIONS(ACT)
#undef ACT
        {0},
};

const Action *action_by_id(ActId id)
{
    for (const Action *row = explorer_actions; row->name; row++)
        if (row->id == (int)id)
            return row;
    return NULL;
}

static const Action *nearest_action(Str name, const Action *const *tables, int n_tables)
{
    const Action *nearest = NULL;
    int least = 4;
    for (int t = 0; t < n_tables; t++)
        for (const Action *row = tables[t]; row->name; row++) {
            int distance = str_distance(str_from(row->name), name);
            if (distance >= least)
                continue;
            least = distance;
            nearest = row;
        }
    return nearest;
}

const Action *action_by_name(Str name, const Action *const *tables, int n_tables, Error *err)
{
    const Action *found = NULL;
    int n_found = 0;

    for (int t = 0; t < n_tables; t++) {
        for (const Action *row = tables[t]; row->name; row++) {
            Str other = str_from(row->name);
            if (str_eq(other, name))
                return row;
            if (name.n > 0 && str_starts(other, name)) {
                found = row;
                n_found++;
            }
        }
    }
    if (n_found == 1)
        return found;
    const Action *nearest = n_found ? NULL : nearest_action(name, tables, n_tables);
    if (n_found)
        error_set(err, "':%.*s' matches %d commands", STR_ARG(name), n_found);
    else
        error_set(err, "no command ':%.*s'", STR_ARG(name));
    if (n_found)
        error_hint(err, "press Tab to complete it");
    else if (nearest)
        error_hint(err, "did you mean ':%s'?", nearest->name);
    return NULL;
}
