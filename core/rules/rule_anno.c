#include "core/rules/rule_anno.h"

static bool is_given(const AnnoArg *args, int n, Str name)
{
    for (int i = 0; i < n; i++)
        if (str_eq(args[i].name, name))
            return true;
    return false;
}

static int args_of(const RuleCall *call, const AnnoArg *more, int n_more, AnnoArg **out)
{
    const AttrList *attrs = &call->graph->attr_lists[call->graph->ops[call->op].attrs];
    AnnoArg *args = arena_array(call->arena, AnnoArg, attrs->n + n_more);
    int n = attrs->n;
    for (int i = 0; i < attrs->n; i++) {
        const char *name = names_text(call->graph->names, attrs->at[i].name);
        name = call->alias ? alias_ours(call->alias, name) : name;
        args[i] = (AnnoArg){str_from(name), attrs->at[i].type == ATTR_INT,
                            attrs->at[i].type == ATTR_INT ? attrs->at[i].i : 0};
    }
    for (int i = 0; i < n_more; i++)
        if (!is_given(args, attrs->n, more[i].name))
            args[n++] = more[i];
    *out = args;
    return n;
}

bool rule_match_anno(const RuleCall *call, const Anno *const *annos, int n, const AnnoArg *more,
                     int n_more, AnnoMatch *out, Error *err)
{
    AnnoArg *args;
    int n_args = args_of(call, more, n_more, &args);
    AnnoInput *inputs = arena_array(call->arena, AnnoInput, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        if (call->shape[i])
            inputs[i] = (AnnoInput){true, *call->shape[i]};
    return anno_match(call->arena, annos, n, inputs, call->n_inputs, args, n_args, out, err);
}
