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
    Str literal;       /* what every text that matches holds; "": nothing is known */
    Arena *hits_arena; /* NULL: not looked for yet */
    uint8_t *of_name;  /* per Names id of the graph: what is known, as Known */
    Vec(Hit) hits;
};

enum Known { UNKNOWN, MATCHES, DIFFERS };

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

/* The place behind a bracket expression or a group that begins at i. */
static size_t skip_brackets(Str pattern, size_t i)
{
    char open = pattern.s[i], close = open == '[' ? ']' : ')';
    int depth = 0;
    for (size_t first = i; i < pattern.n; i++) {
        if (pattern.s[i] == '\\' && open == '(')
            i++;
        else if (pattern.s[i] == close && (open == '(' || i > first + 1))
            depth--;
        else if (pattern.s[i] == open && (open == '(' || i == first))
            depth++;
        if (depth == 0)
            break;
    }
    return i + 1;
}

/* The longest run of plain characters that a regular expression asks for wherever it matches: most
 * texts do not hold it, and need not be asked further. "" where there are alternatives. */
static Str longest_literal(Arena *arena, Str pattern)
{
    Buf best = buf_new(arena), run = buf_new(arena);
    for (size_t i = 0; i <= pattern.n;) {
        char c = i < pattern.n ? pattern.s[i] : '\0';
        bool escaped = c == '\\' && i + 1 < pattern.n && ispunct((unsigned char)pattern.s[i + 1]);
        if (c == '|')
            return STR("");
        if (escaped || (c && !strchr("\\^$*+?()[]{}.", c))) {
            buf_putc(&run, escaped ? pattern.s[i + 1] : c);
            i += escaped ? 2 : 1;
            continue;
        }
        if (c && strchr("*?{", c) && run.n > 0)
            run.n--;
        if (run.n > best.n) {
            best.n = 0;
            buf_add(&best, buf_str(&run));
        }
        run.n = 0;
        if (c == '{')
            while (i < pattern.n && pattern.s[i] != '}')
                i++;
        i = c == '[' || c == '(' ? skip_brackets(pattern, i) : c == '\\' ? i + 2 : i + 1;
    }
    return buf_str(&best);
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
    if (code == 0) {
        search->literal = longest_literal(arena, search->pattern);
        return search;
    }
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

static inline unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
}

/* Plain text in text, whatever the case; the pattern has no capitals. */
static bool has_blind(Str text, Str pattern)
{
    if (pattern.n == 0)
        return true;
    unsigned char first = (unsigned char)pattern.s[0];
    for (size_t at = 0; at + pattern.n <= text.n; at++) {
        size_t i = 1;
        if (lower(text.s[at]) != first)
            continue;
        while (i < pattern.n && lower(text.s[at + i]) == (unsigned char)pattern.s[i])
            i++;
        if (i == pattern.n)
            return true;
    }
    return false;
}

static bool holds(const Search *search, Str text, Str plain)
{
    return search->blind ? has_blind(text, plain)
                         : memmem(text.s, text.n, plain.s, plain.n) != NULL;
}

/* The text ends in a NUL. */
static bool matches(const Search *search, Str text)
{
    if (search->plain)
        return holds(search, text, search->pattern);
    return holds(search, text, search->literal) && regexec(&search->regex, text.s, 0, NULL, 0) == 0;
}

bool search_matches(const Search *search, Str text)
{
    Arena *scratch = arena_new();
    bool found = matches(search, (Str){arena_str(scratch, text), text.n});

    arena_free(scratch);
    return found;
}

static void add_hit(Search *search, HitKind kind, int32_t id, int32_t op, int32_t place)
{
    vec_push_own(search->hits_arena, &search->hits, (Hit){kind, id, op, place});
}

/* Names of the graph are asked once: a path is that of many ops, a tensor is called as its op. */
static bool name_matches(Search *search, const Graph *graph, int32_t name)
{
    uint8_t *known = &search->of_name[name];
    if (*known == UNKNOWN)
        *known = matches(search, names_str(graph->names, name)) ? MATCHES : DIFFERS;
    return *known == MATCHES;
}

static bool tensor_matches(Search *search, const Session *session, int32_t tensor)
{
    const char *label = naming_label(session->naming, tensor);
    return name_matches(search, session->graph, session->graph->tensors[tensor].name) ||
           (label != tensor_name(session->graph, tensor) && matches(search, str_from(label)));
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
        if (parameter && tensor_matches(search, session, tensor))
            add_hit(search, HIT_TENSOR, tensor, op, place);
    }
}

/* The outermost group that begins at this place and whose path matches; -1: none. */
static int32_t matching_group(const Search *search, const Groups *groups, int32_t place)
{
    int32_t found = -1;

    for (int32_t g = groups->group_of[groups->order[place]];
         g > 0 && groups->groups[g].first == place; g = groups->groups[g].parent)
        if (matches(search, str_from(groups->groups[g].path)))
            found = g;
    return found;
}

/* "transformer.h.3.mlp.c_fc/Gemm", as ops are shown. */
static bool matches_label(const Search *search, const Graph *graph, int32_t op)
{
    char label[LABEL_MAX];

    /* Without a slash that is looked for, one of the two alone holds it. */
    if (search->plain && !strchr(search->pattern.s, '/'))
        return false;
    if (!search->plain && !strpbrk(search->pattern.s, "/.[(|"))
        return false;
    Str path = str_from(op_path(graph, op)), name = str_from(path_base(op_name(graph, op)));
    if (path.n + name.n + 2 > sizeof label)
        return false;
    memcpy(label, path.s, path.n);
    label[path.n] = '/';
    memcpy(label + path.n + 1, name.s, name.n + 1);
    return matches(search, (Str){label, path.n + 1 + name.n});
}

static void find_hits(Search *search, const Session *session)
{
    const Graph *graph = session->graph;
    const Groups *groups = session->groups;
    Arena *scratch = arena_new();

    search->of_name = arena_array(scratch, uint8_t, names_count(graph->names));
    for (int i = 0; i < graph->n_inputs; i++)
        if (name_matches(search, graph, graph->tensors[graph->inputs[i]].name))
            add_hit(search, HIT_INPUT, graph->inputs[i], -1, i - graph->n_inputs);
    for (int32_t place = 0; place < groups->n_order;) {
        int32_t op = groups->order[place], group = matching_group(search, groups, place);
        if (group >= 0) {
            add_hit(search, HIT_GROUP, group, op, place);
            place += groups->groups[group].n;
            continue;
        }
        int before = search->hits.n;
        if (name_matches(search, graph, graph->ops[op].operator) ||
            name_matches(search, graph, graph->ops[op].name) || matches_label(search, graph, op))
            add_hit(search, HIT_OP, op, op, place);
        if (search->hits.n == before)
            find_parameters(search, session, op, place);
        place++;
    }
    search->of_name = NULL;
    arena_free(scratch);
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
