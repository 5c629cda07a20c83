#include "core/peers/tapestry/apply.h"

#include <inttypes.h>

static bool add_dim(Apply *apply, const PhraseNode *node, int64_t size, const char *display)
{
    IndexSpace *index = &apply->index;
    if (size < 0)
        return node_fail(&apply->scope, node, E_SHAPE, "an index dim of size %" PRId64, size);
    if (index->n == X_MAX)
        return node_fail(&apply->scope, node, E_LIMIT, "an op has at most %d index dims", X_MAX);
    index->size[index->n] = size;
    index->display[index->n] = display;
    index->anonymous[index->n] = !display;
    index->n++;
    return true;
}

static bool add_name(Apply *apply, const PhraseNode *node, IndexName name)
{
    for (int i = 0; i < apply->index.names.n; i++)
        if (str_eq(apply->index.names.at[i].name, name.name))
            return node_fail(&apply->scope, node, E_DUP, "two index dims are named %.*s",
                             STR_ARG(name.name));
    vec_push(apply->arena, &apply->index.names, name);
    return true;
}

/* Adds the dims of a list as a group, whose name may be empty. */
static bool add_group(Apply *apply, const PhraseNode *node, Str name, const Datum *sizes)
{
    IndexName group = {name, apply->index.n, sizes->n, true};
    if (name.n > 0 && !add_name(apply, node, group))
        return false;
    for (int i = 0; i < sizes->n; i++) {
        const char *display =
            name.n > 0 ? arena_printf(apply->arena, "%.*s.%d", STR_ARG(name), i) : NULL;
        if (sizes->item[i].kind != DATUM_INT)
            return node_fail(&apply->scope, node, E_TYPE,
                             "the size of an index dim must be a number");
        if (!add_dim(apply, node, sizes->item[i].number, display))
            return false;
    }
    return true;
}

static bool add_single(Apply *apply, const PhraseNode *node, Str name, const Datum *size)
{
    if (size->kind != DATUM_INT) {
        node_fail(&apply->scope, node, E_TYPE, "the size of an index dim must be a number");
        error_hint(apply->err, "write '...' after a list to spread it out");
        return false;
    }
    IndexName single = {name, apply->index.n, 1, false};
    if (name.n > 0 && !add_name(apply, node, single))
        return false;
    return add_dim(apply, node, size->number, name.n > 0 ? arena_str(apply->arena, name) : NULL);
}

/* `$n`, `$pre...`, `$x = expr`, `$x = expr...`, or an expression without a name. */
static bool add_entry(Apply *apply, const PhraseNode *node)
{
    const PhraseNode *sizes = node->kind == NODE_BIND ? node->arg[0] : node;
    bool run = sizes->kind == NODE_RUN;
    sizes = run ? sizes->arg[0] : sizes;
    Datum value;
    Str name = node->kind == NODE_BIND || sizes->kind == NODE_VAR ? sizes->name : (Str){0};
    if (node->kind == NODE_BIND)
        name = node->name;
    if (!evaluate(&apply->scope, sizes, &value))
        return false;
    if (run && value.kind != DATUM_LIST)
        return node_fail(&apply->scope, node, E_CONTEXT,
                         "how often the number repeats cannot be derived here");
    if (node->kind == NODE_BIND) {
        if (scope_find(&apply->scope, name))
            return node_fail(&apply->scope, node, E_DUP, "$%.*s has a value already",
                             STR_ARG(name));
        scope_bind(&apply->scope, name, value, node->phrase->where);
    }
    return run ? add_group(apply, node, name, &value) : add_single(apply, node, name, &value);
}

static bool add_entries(Apply *apply, const Phrase *phrase)
{
    for (int i = 0; i < phrase->root->n; i++)
        if (!add_entry(apply, phrase->root->arg[i]))
            return false;
    return true;
}

static bool is_taken(const IndexSpace *index, const char *display)
{
    for (int j = 0; j < index->n; j++)
        if (index->display[j] && strcmp(index->display[j], display) == 0)
            return true;
    return false;
}

/* Gives anonymous index dims the names d0, d1, .. for display. */
static void name_anonymous(Apply *apply)
{
    for (int j = 0; j < apply->index.n; j++) {
        if (!apply->index.anonymous[j])
            continue;
        const char *display = arena_printf(apply->arena, "d%d", j);
        while (is_taken(&apply->index, display))
            display = arena_printf(apply->arena, "%s_", display);
        apply->index.display[j] = display;
    }
}

bool apply_index(Apply *apply)
{
    const Template *template = apply->template;
    if (!add_entries(apply, template->index))
        return false;
    apply->index.n_main = apply->index.n;
    if (!scope_find(&apply->scope, STR("index")))
        scope_bind(&apply->scope, STR("index"),
                   datum_ints(apply->arena, apply->index.size, apply->index.n), "index");
    if (template->reduce && !add_entries(apply, template->reduce))
        return false;
    name_anonymous(apply);
    return true;
}
