#include "tui/app/search.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABEL_MAX = 512 };

struct Search {
    Arena *arena;
    Str pattern;
    bool plain, blind; /* no special characters; no capitals */
    regex_t regex;     /* where not plain */
    Arena *hits_arena; /* NULL: not looked for yet */
    Vec(Hit) hits;
};

static bool has_special(Str pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (strchr("\\^$*+?()[]{}|", pattern.s[i]))
            return true;
    return false;
}

static bool has_capital(Str pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (isupper((unsigned char)pattern.s[i]))
            return true;
    return false;
}

Search *search_new(Str pattern, Error *err)
{
    Arena *arena = arena_new();
    Search *search = arena_make(arena, Search);

    *search = (Search){.arena = arena, .plain = !has_special(pattern)};
    search->pattern = str_from(arena_str(arena, pattern));
    search->blind = !has_capital(pattern);
    if (search->plain)
        return search;
    int flags = REG_EXTENDED | REG_NOSUB | (search->blind ? REG_ICASE : 0);
    int code = regcomp(&search->regex, search->pattern.s, flags);
    if (code == 0)
        return search;
    char text[100];
    regerror(code, &search->regex, text, sizeof text);
    error_set(err, "/%.*s: %s", STR_ARG(pattern), text);
    arena_free(arena);
    return NULL;
}

void search_free(Search *search)
{
    if (!search)
        return;
    if (!search->plain)
        regfree(&search->regex);
    arena_free(search->hits_arena);
    arena_free(search->arena);
}

void search_forget(Search *search)
{
    arena_free(search->hits_arena);
    search->hits_arena = NULL;
}

Str search_pattern(const Search *search)
{
    return search->pattern;
}

/* Plain text in text, whatever the case; the pattern has no capitals. */
static bool has_blind(const char *text, const char *pattern)
{
    for (; *text; text++) {
        size_t i = 0;
        while (pattern[i] && tolower((unsigned char)text[i]) == (unsigned char)pattern[i])
            i++;
        if (!pattern[i])
            return true;
    }
    return false;
}

static bool matches(const Search *search, const char *text)
{
    if (!search->plain)
        return regexec(&search->regex, text, 0, NULL, 0) == 0;
    return search->blind ? has_blind(text, search->pattern.s)
                         : strstr(text, search->pattern.s) != NULL;
}

bool search_matches(const Search *search, Str text)
{
    Arena *scratch = arena_new();
    bool found = matches(search, arena_str(scratch, text));

    arena_free(scratch);
    return found;
}

static void add_hit(Search *search, HitKind kind, int32_t id, int32_t op, int32_t place)
{
    vec_push(search->hits_arena, &search->hits, (Hit){kind, id, op, place});
}

/* Parameters that the op is the first to read, by the names people know them by. */
static void find_parameters(Search *search, const Session *session, int32_t op, int32_t place)
{
    const Graph *graph = session->graph;

    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor < 0 || graph->uses[graph->tensors[tensor].use] != op)
            continue;
        int32_t maker = graph->tensors[tensor].maker;
        bool parameter = tensor_is_parameter(session->inferred, tensor) ||
                         (maker >= 0 && session->inferred->on_parameters[maker]);
        if (parameter && (matches(search, naming_label(session->naming, tensor)) ||
                          matches(search, tensor_name(graph, tensor))))
            add_hit(search, HIT_TENSOR, tensor, op, place);
    }
}

/* The outermost group that begins at this place and whose path matches; -1: none. */
static int32_t matching_group(const Search *search, const Groups *groups, int32_t place)
{
    int32_t found = -1;

    for (int32_t g = groups->group_of[groups->order[place]];
         g > 0 && groups->groups[g].first == place; g = groups->groups[g].parent)
        if (matches(search, groups->groups[g].path))
            found = g;
    return found;
}

/* "transformer.h.3.mlp.c_fc/Gemm", as ops are shown. */
static bool matches_label(const Search *search, const Graph *graph, int32_t op)
{
    char label[LABEL_MAX];

    if (search->plain && !strchr(search->pattern.s, '/'))
        return false;
    snprintf(label, sizeof label, "%s/%s", op_path(graph, op), path_base(op_name(graph, op)));
    return matches(search, label);
}

static void find_hits(Search *search, const Session *session)
{
    const Graph *graph = session->graph;
    const Groups *groups = session->groups;

    for (int i = 0; i < graph->n_inputs; i++)
        if (matches(search, tensor_name(graph, graph->inputs[i])))
            add_hit(search, HIT_INPUT, graph->inputs[i], -1, i - graph->n_inputs);
    for (int32_t place = 0; place < groups->n_order;) {
        int32_t op = groups->order[place], group = matching_group(search, groups, place);
        if (group >= 0) {
            add_hit(search, HIT_GROUP, group, op, place);
            place += groups->groups[group].n;
            continue;
        }
        int before = search->hits.n;
        if (matches(search, op_operator(graph, op)) || matches(search, op_name(graph, op)) ||
            matches_label(search, graph, op))
            add_hit(search, HIT_OP, op, op, place);
        if (search->hits.n == before)
            find_parameters(search, session, op, place);
        place++;
    }
}

int search_hits(Search *search, const Session *session, const Hit **hits)
{
    if (!search->hits_arena) {
        search->hits_arena = arena_new();
        memset(&search->hits, 0, sizeof search->hits);
        find_hits(search, session);
    }
    *hits = search->hits.at;
    return search->hits.n;
}

int search_from(Search *search, const Session *session, int32_t place, int by)
{
    const Hit *hits;
    int n = search_hits(search, session, &hits);

    if (n == 0)
        return -1;
    if (by > 0) {
        for (int i = 0; i < n; i++)
            if (hits[i].place > place)
                return i;
        return 0;
    }
    for (int i = n - 1; i >= 0; i--)
        if (hits[i].place < place)
            return i;
    return n - 1;
}
