#include "core/rules/rule_query.h"

#include "core/rules/infer.h"
#include "core/rules/one_op.h"

#include <ctype.h>

/* ---- the op asked about, as a graph of one op ---- */

enum { OUTPUTS_TRIED = 32 };

/* "axis=1" under the name that the other system has for it. */
static const char *rename_attr(RuleQuery *query, const Alias *alias, const char *given)
{
    Str rest = str_from(given), name = str_take(&rest, '=');
    for (int i = 0; alias && i < alias->n_attrs; i++)
        if (str_eq(name, str_from(alias->attr[i].ours)))
            return arena_printf(query->arena, "%s%s", alias->attr[i].theirs, given + name.n);
    return given;
}

/* Whether "NAME=" stands there. */
static bool begins_attr(Str text)
{
    size_t n = 0;

    while (n < text.n && (isalnum((unsigned char)text.s[n]) || text.s[n] == '_'))
        n++;
    return n > 0 && n < text.n && text.s[n] == '=';
}

/* Removes the first of "axis=1,perm=[1,0]" from *text. A comma in a value is followed by no name:
 * "equation=ij,jk->ik" is one. */
static Str next_attr(Str *text)
{
    Str all = *text;
    size_t n = 0;

    while (n < all.n && !(all.s[n] == ',' && begins_attr((Str){all.s + n + 1, all.n - n - 1})))
        n++;
    *text = n < all.n ? (Str){all.s + n + 1, all.n - n - 1} : (Str){all.s + n, 0};
    return (Str){all.s, n};
}

static bool add_attrs(RuleQuery *query, OneOpBuilder *builder, const Alias *alias)
{
    for (int i = 0; i < query->n_attrs; i++) {
        Str rest = str_from(query->attrs[i]);
        do {
            const char *attr = arena_str(query->arena, next_attr(&rest));
            if (!one_op_attr_text(builder, rename_attr(query, alias, attr), query->err))
                return false;
        } while (rest.n > 0);
    }
    return true;
}

const Graph *query_attrs(RuleQuery *query, const char *name, const Alias *alias)
{
    OneOpBuilder *builder = one_op_new(query->arena, &(OneOp){.op_type = str_from(name)});
    return add_attrs(query, builder, alias) ? one_op_graph(builder, query->err) : NULL;
}

static Graph *graph_of(RuleQuery *query, int n_outputs)
{
    OneOp op = {.op_type = str_from(query->name), .n_outputs = n_outputs};
    if (!one_op_operands(query->arena, str_from(query->shapes), &op, query->err))
        return NULL;
    OneOpBuilder *builder = one_op_new(query->arena, &op);
    return add_attrs(query, builder, NULL) ? one_op_graph(builder, query->err) : NULL;
}

static bool is_refused(RuleQuery *query, const Graph *graph)
{
    const DimBindings none = {0};
    const Inferred *inferred =
        infer(query->arena, graph, query->rules->registry, &none, false, NULL);
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    return space && space->no_rule;
}

/* Makes the graph; an operator that refuses a small number of outputs, such as Split, gets more. */
Graph *query_graph(RuleQuery *query, const Operator *rule)
{
    int n = rule->data ? rule->data->n_outputs : 1, most = OUTPUTS_TRIED;
    if (rule->rule && rule->outputs_max < most)
        most = rule->outputs_max;
    Graph *first = graph_of(query, n), *graph = first;
    while (graph && n < most && is_refused(query, graph))
        graph = graph_of(query, ++n);
    return !graph || is_refused(query, graph) ? first : graph;
}

/* ---- operators by name ---- */

/* The name most similar to a wrong one, of any system; case is ignored. */
typedef struct {
    Arena *arena;
    Str given;
    const char *system, *name; /* system NULL: one of ours */
    int distance;
} NearestRule;

static void offer(NearestRule *nearest, const char *system, const char *name)
{
    const char *plain = str_lower_case(nearest->arena, str_from(name));
    int distance = str_distance(nearest->given, str_from(plain));
    if (distance >= nearest->distance)
        return;
    nearest->system = system;
    nearest->name = name;
    nearest->distance = distance;
}

static NearestRule nearest_name(Arena *arena, const Registry *registry, Str given)
{
    SystemId system = SYSTEM_COUNT;
    Str rest = given;
    bool of_system = alias_split(given, &system, &rest);
    NearestRule nearest = {.arena = arena, .distance = rest.n > 9 ? 4 : 1 + (int)rest.n / 3};
    nearest.given = str_from(str_lower_case(arena, rest));
    Aliases aliases = alias_names(arena, NULL);
    for (int i = 0; !of_system && i < registry_count(registry); i++)
        offer(&nearest, NULL, registry_at(registry, i)->name);
    for (int i = 0; i < aliases.n; i++)
        if (!of_system || aliases.at[i].system == system)
            offer(&nearest, system_name(aliases.at[i].system), aliases.at[i].name);
    return nearest;
}

const Operator *query_operator(RuleQuery *query)
{
    const Registry *registry = query->rules->registry;
    Str name = str_from(query->name);
    const Operator *found = registry_find(registry, name);
    if (found)
        return found;
    error_kind(query->err, ERROR_UNKNOWN_OP, "there is no operator '%.*s'", STR_ARG(name));
    NearestRule nearest = nearest_name(query->arena, registry, name);
    if (nearest.name)
        error_hint(query->err, "did you mean %s%s%s", nearest.system ? nearest.system : "",
                   nearest.system ? "::" : "", nearest.name);
    else
        error_hint(query->err, "dimscope rule --list has them all");
    return NULL;
}

bool query_take_in(RuleQuery *query, Str *rest, Source *one)
{
    *one = (Source){.name = "--in", .text = str_trim(str_take(rest, ';'))};
    return one->text.n > 0 || error_kind(query->err, ERROR_USAGE,
                                         "--in has a sharding for each input, with ; between them");
}

bool query_end_in(RuleQuery *query, Str rest)
{
    return str_trim(rest).n == 0 ||
           error_kind(query->err, ERROR_USAGE, "--in has more shardings than there are operands");
}
