#include "tui/state/search.h"

#include "core/base/clock.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tre/tre.h>

enum { LABEL_MAX = 512, NODES_MAX = 300, LOOK_EVERY = 1024, NEAR_MS = 50 };

enum Known { UNKNOWN, MATCHES, DIFFERS };

/* Hits so far, and what is known of names: those of a thread of its own, or of the screen's. */
typedef struct {
    Arena *arena;      /* NULL before the first search */
    uint8_t *of_name;  /* per Names id of the graph, as Known */
    uint8_t *of_group; /* per group, as Known */
    Vec(Hit) hits;
} Found;

struct Search {
    Arena *arena;
    Str pattern;
    bool plain, blind; /* no special characters; no capitals */
    regex_t regex;     /* where not plain */
    Str literal;       /* what every text that matches holds; "": nothing is known */
    Found all;         /* every hit, once they are counted */
    Found near;        /* the last nearest one */
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

/* Behind a backslash; "\<" and "\>" are the ends of a word. */
static bool is_literal(char c)
{
    return ispunct((unsigned char)c) && c != '<' && c != '>';
}

/* The longest run of plain characters that a regular expression asks for wherever it matches: most
 * texts do not hold it, and need not be asked further. "" where there are alternatives. */
static Str longest_literal(Arena *arena, Str pattern)
{
    Buf best = buf_new(arena), run = buf_new(arena);
    for (size_t i = 0; i <= pattern.n;) {
        char c = i < pattern.n ? pattern.s[i] : '\0';
        bool escaped = c == '\\' && i + 1 < pattern.n && is_literal(pattern.s[i + 1]);
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

/* How many nodes the expression has once its counted repetitions are written out, as tre_regncomp()
 * does: x{2,5} is x five times, and groups multiply. */
static double written_out(Str pattern)
{
    enum { DEPTH_MAX = 50 };
    double sum[DEPTH_MAX] = {0}, last = 0;
    int depth = 0;
    for (size_t i = 0; i < pattern.n;) {
        char c = pattern.s[i];
        size_t next = c == '[' ? skip_brackets(pattern, i) : c == '\\' ? i + 2 : i + 1;
        double times = 1;
        for (; c == '{' && next < pattern.n && pattern.s[next] != '}'; next++) {
            double number = strtod(pattern.s + next, NULL);
            times = number > times ? number : times;
        }
        next += c == '{';
        if (c == '(' && ++depth == DEPTH_MAX)
            return INFINITY;
        if (c == '(')
            sum[depth] = last = 0;
        else if (c == ')' && depth > 0)
            last = 1 + sum[depth--];
        else if (strchr("*+?{", c))
            sum[depth] -= last, last *= times;
        else
            last = 1;
        sum[depth] += c == '(' ? 0 : last;
        i = next;
    }
    while (depth > 0)
        sum[depth - 1] += sum[depth], depth--;
    return sum[0];
}

/* "{2}", "{2,}", "{2,5}" at s[i]: the library takes more in braces, which means other things. */
static bool is_repetition(Str pattern, size_t i)
{
    while (++i < pattern.n && pattern.s[i] != '}')
        if (!is_digit(pattern.s[i]) && pattern.s[i] != ',')
            return false;
    return true;
}

/* The library takes a ) without its ( for itself, but for `\\)`: there it asks for all memory. */
static bool can_be_run(Str pattern, Error *err)
{
    int depth = 0;
    for (size_t i = 0; i < pattern.n;) {
        char c = pattern.s[i], next = i + 1 < pattern.n ? pattern.s[i + 1] : '\0';
        depth += (c == '(') - (c == ')');
        if (depth < 0) {
            error_set(err, "/%.*s: a ) has no matching (", STR_ARG(pattern));
            return error_hint(err, "write \\) to search for a )");
        }
        if (c == '\\' && is_digit(next)) {
            error_set(err, "/%.*s: back-references such as \\1 are not supported",
                      STR_ARG(pattern));
            return error_hint(err, "write \\\\ to search for a \\");
        }
        if (c == '\\' && next && !is_literal(next) && !strchr("<>bBwWsSdD", next))
            return error_set(err, "/%.*s: \\%c is not a known escape", STR_ARG(pattern), next);
        if (c == '(' && next == '?')
            return error_set(err, "/%.*s: (? is not supported", STR_ARG(pattern));
        if (c == '{' && !is_repetition(pattern, i))
            return error_set(err, "/%.*s: a repetition must look like {2}, {2,} or {2,5}",
                             STR_ARG(pattern));
        i = c == '[' ? skip_brackets(pattern, i) : c == '\\' ? i + 2 : i + 1;
    }
    return written_out(pattern) <= NODES_MAX ||
           error_set(err, "/%.*s: the repetition counts are too large", STR_ARG(pattern));
}

Search *search_new(Str pattern, Error *err)
{
    if (!can_be_run(pattern, err))
        return NULL;
    Arena *arena = arena_new();
    Search *search = arena_make(arena, Search);

    *search = (Search){.arena = arena, .plain = !has_special(pattern)};
    search->pattern = str_from(arena_str(arena, pattern));
    search->blind = !has_capital(pattern);
    if (search->plain)
        return search;
    int flags = REG_EXTENDED | REG_NOSUB | (search->blind ? REG_ICASE : 0);
    int code = tre_regncomp(&search->regex, search->pattern.s, search->pattern.n, flags);
    if (code == 0) {
        search->literal = longest_literal(arena, search->pattern);
        return search;
    }
    char text[100];
    tre_regerror(code, &search->regex, text, sizeof text);
    error_set(err, "/%.*s: %s", STR_ARG(pattern), text);
    arena_free(arena);
    return NULL;
}

void search_free(Search *search)
{
    if (!search)
        return;
    if (!search->plain)
        tre_regfree(&search->regex);
    search_forget(search);
    arena_free(search->arena);
}

static void forget(Found *found)
{
    arena_free(found->arena);
    *found = (Found){0};
}

void search_forget(Search *search)
{
    forget(&search->all);
    forget(&search->near);
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

/* In time that grows with the text and the pattern, whatever they are: no backtracking. */
bool search_matches(const Search *search, Str text)
{
    text = text.s ? text : STR(""); /* an empty line of a page has none */
    if (search->plain)
        return holds(search, text, search->pattern);
    return holds(search, text, search->literal) &&
           tre_regnexec(&search->regex, text.s, text.n, 0, NULL, 0) == 0;
}

/* ---- looking for hits ---- */

typedef struct {
    const Search *search;
    const Session *session;
    Found *found;
    int32_t inner, outer; /* a group, and the outermost group around it that matches; -1 if none */
} NameLook;

static NameLook look_new(const Search *search, const Session *session, Found *found)
{
    if (!found->arena) {
        found->arena = arena_new();
        found->of_name = arena_array(found->arena, uint8_t, names_count(session->graph->names));
        found->of_group = arena_array(found->arena, uint8_t, session->groups->n_groups);
    }
    return (NameLook){search, session, found, -1, -1};
}

static void add_hit(const NameLook *look, HitKind kind, int32_t id, int32_t op, int32_t place)
{
    vec_push_own(look->found->arena, &look->found->hits, (Hit){kind, id, op, place});
}

/* Each is asked once: a path is that of many ops, a tensor is called as its op. */
static bool is_known_to_match(const NameLook *look, uint8_t *known, Str text)
{
    if (*known == UNKNOWN)
        *known = search_matches(look->search, text) ? MATCHES : DIFFERS;
    return *known == MATCHES;
}

static bool name_matches(const NameLook *look, int32_t name)
{
    return is_known_to_match(look, &look->found->of_name[name],
                             names_str(look->session->graph->names, name));
}

static bool tensor_matches(const NameLook *look, int32_t tensor)
{
    const Session *session = look->session;
    const char *label = naming_label(session->naming, tensor);
    return name_matches(look, session->graph->tensors[tensor].name) ||
           (label != tensor_name(session->graph, tensor) &&
            search_matches(look->search, str_from(label)));
}

/* Parameters and states that the op is the first to read, by the names people know them by. */
static void find_parameters(const NameLook *look, int32_t op, int32_t place)
{
    const Session *session = look->session;
    const Graph *graph = session->graph;

    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor < 0 || graph->uses[graph->tensors[tensor].use] != op)
            continue;
        int32_t maker = graph->tensors[tensor].maker;
        bool parameter = tensor_is_parameter(session->inferred, tensor) ||
                         (maker >= 0 && session->inferred->on_parameters[maker]);
        if (parameter && tensor_matches(look, tensor))
            add_hit(look, HIT_TENSOR, tensor, op, place);
    }
}

/* Gradients and updated values, whose names are not those of the ops that make them. */
static void find_gradients(const NameLook *look, int32_t op, int32_t place)
{
    const Graph *graph = look->session->graph;

    for (int o = 0; o < graph->ops[op].n_outputs && graph->gradient_of; o++) {
        int32_t tensor = op_outputs(graph, op)[o];
        bool named =
            tensor >= 0 && (graph->gradient_of[tensor] >= 0 || graph->next_of[tensor] >= 0);
        if (named && tensor_matches(look, tensor))
            add_hit(look, HIT_TENSOR, tensor, op, place);
    }
}

/* The outermost group around this place whose path matches; -1: none. Neighbours are in one group.
 */
static int32_t group_around(NameLook *look, int32_t place)
{
    const Groups *groups = look->session->groups;
    int32_t inner = groups->group_of[groups->order[place]], found = -1;

    if (inner == look->inner)
        return look->outer;
    for (int32_t g = inner; g > 0; g = groups->groups[g].parent)
        if (is_known_to_match(look, &look->found->of_group[g], str_from(groups->groups[g].path)))
            found = g;
    look->inner = inner;
    look->outer = found;
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
    return search_matches(search, (Str){label, path.n + 1 + name.n});
}

static void look_at_op(const NameLook *look, int32_t place)
{
    const Graph *graph = look->session->graph;
    int32_t op = look->session->groups->order[place];
    int before = look->found->hits.n;

    if (name_matches(look, graph->ops[op].op_type) || name_matches(look, graph->ops[op].name) ||
        matches_label(look->search, graph, op))
        add_hit(look, HIT_OP, op, op, place);
    if (look->found->hits.n > before)
        return;
    find_parameters(look, op, place);
    find_gradients(look, op, place);
}

/* What is hit at this place, or by the group around it, which it is the first place of unless one
 * comes from behind. The place that follows what was looked at. */
static int32_t look_at(NameLook *look, int32_t place)
{
    const Session *session = look->session;
    const Groups *groups = session->groups;
    const Graph *graph = session->graph;

    if (place < 0) {
        int32_t input = graph->inputs[place + graph->n_inputs];
        if (name_matches(look, graph->tensors[input].name))
            add_hit(look, HIT_INPUT, input, -1, place);
        return place + 1;
    }
    int32_t group = group_around(look, place);
    if (group < 0) {
        look_at_op(look, place);
        return place + 1;
    }
    int32_t first = groups->groups[group].first;
    add_hit(look, HIT_GROUP, group, groups->order[first], first);
    return first + groups->groups[group].n;
}

bool search_count(Search *search, const Session *session, Progress *progress, Error *err)
{
    NameLook look = look_new(search, session, &search->all);
    int n_looked = 0;

    progress_stage(progress, "searching", session->groups->n_order);
    for (int32_t place = -session->graph->n_inputs; place < session->groups->n_order;) {
        place = look_at(&look, place);
        if (++n_looked % LOOK_EVERY == 0)
            progress_add(progress, LOOK_EVERY);
        if (progress_stopped(progress)) {
            forget(&search->all);
            return progress_goes_on(progress, err);
        }
    }
    return true;
}

bool search_is_counted(const Search *search)
{
    return search->all.arena != NULL;
}

void search_take(Search *search, Search *counted)
{
    forget(&search->all);
    search->all = counted->all;
    counted->all = (Found){0};
}

int search_hits(Search *search, const Session *session, const Hit **hits)
{
    if (!search_is_counted(search))
        search_count(search, session, NULL, NULL);
    *hits = search->all.hits.at;
    return search->all.hits.n;
}

/* Where to begin behind a place: a group around it that matches has its hit at its first place. */
static int32_t place_behind(NameLook *look, int32_t place)
{
    const Groups *groups = look->session->groups;

    if (place + 1 <= 0 || place + 1 >= groups->n_order)
        return place + 1;
    int32_t group = group_around(look, place + 1);
    return group >= 0 && groups->groups[group].first <= place
               ? groups->groups[group].first + groups->groups[group].n
               : place + 1;
}

SearchNear search_near(Search *search, const Session *session, int32_t place, int by, Hit *out)
{
    NameLook look = look_new(search, session, &search->near);
    int32_t begin = -session->graph->n_inputs, end = session->groups->n_order;
    int32_t at = by > 0 ? place_behind(&look, place) : place - 1;
    bool around = false;
    int64_t end_ms = clock_ms() + NEAR_MS;

    look.found->hits.n = 0;
    for (int n_looked = 0; n_looked < SEARCH_NEAR_PLACES && clock_ms() < end_ms; n_looked++) {
        if (at < begin || at >= end) {
            if (around || begin == end)
                return NEAR_NONE;
            around = true;
            at = by > 0 ? begin : end - 1;
        }
        if (around && (by > 0 ? at > place : at < place))
            return NEAR_NONE;
        int32_t behind = look_at(&look, at);
        int n = look.found->hits.n;
        if (n > 0) {
            *out = look.found->hits.at[by > 0 ? 0 : n - 1];
            return NEAR_FOUND;
        }
        at = by > 0 ? behind : at - 1;
    }
    return NEAR_FARTHER;
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
