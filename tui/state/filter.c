#include "tui/state/filter_state.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORD_MAX = 200 };

/* ORDER FILTER_KEY */
static const char *const keys[KEY_COUNT] = {
    "",     "name", "op",   "dtype", "shape", "axis", "partial",
    "kind", "is",   "pass", "ms",    "us",    "comm", "mib",
};

/* ORDER FILTER_STATE */
static const char *const states[IS_COUNT] = {
    "reshard", "pinned", "uneven", "replicated", "changed", "tagged",
};

static bool is_numeric(FilterKey key)
{
    return key >= KEY_MS;
}

/* ---- reading ---- */

static int row_of(const char *const *names, int first, int n, Str name)
{
    for (int i = first; i < n; i++)
        if (str_eq(str_from(names[i]), name))
            return i;
    return -1;
}

/* Says what is unknown, and the nearest of the names. */
static bool unknown(const char *what, Str name, const char *const *names, int first, int n,
                    Error *err)
{
    int best = first;

    for (int i = first; i < n; i++)
        if (str_distance(str_from(names[i]), name) < str_distance(str_from(names[best]), name))
            best = i;
    error_set(err, "filter: no %s '%.*s'", what, STR_ARG(name));
    error_hint(err, "did you mean '%s'?", names[best]);
    return false;
}

static bool read_kind(Str text, Choice *value, Error *err)
{
    const char *marks[STEP_KIND_COUNT];

    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        marks[k] = step_kind_mark((StepKind)k);
        value->number = k;
        if (strlen(marks[k]) == text.n && strncasecmp(marks[k], text.s, text.n) == 0)
            return true;
    }
    return unknown("kind of step", text, marks, 0, STEP_KIND_COUNT, err);
}

static bool read_axis(const Mesh *mesh, Str text, Choice *value, Error *err)
{
    int axis = mesh_find_axis(mesh, text);

    if (str_eq(text, STR("any"))) {
        value->atoms = (AtomSet)~0u;
        return true;
    }
    if (axis < 0)
        return mesh_need_axis(mesh, text, err) >= 0;
    value->atoms = mesh_axis_atoms(mesh, axis);
    return true;
}

/* "4096", "8,4096" */
static bool read_shape(Str text, Choice *value, Error *err)
{
    Str rest = text;

    while (rest.n > 0 && value->shape.n_dims < DIMS_MAX) {
        int64_t size;
        if (!str_to_int(str_take(&rest, ','), &size))
            return error_set(err, "filter: shape:%.*s is not a list of sizes", STR_ARG(text));
        value->shape.dim[value->shape.n_dims++] = size;
    }
    return true;
}

static bool read_value(const Filter *filter, FilterKey key, Str text, Choice *value, Error *err)
{
    *value = (Choice){.text = text, .blind = true};
    for (size_t i = 0; i < text.n; i++)
        value->blind = value->blind && !isupper((unsigned char)text.s[i]);
    value->matmul = text.n == 6 && strncasecmp(text.s, "matmul", 6) == 0;
    if (key == KEY_AXIS || key == KEY_PARTIAL)
        return read_axis(filter->source->session->mesh, text, value, err);
    if (key == KEY_KIND)
        return read_kind(text, value, err);
    if (key == KEY_SHAPE)
        return read_shape(text, value, err);
    if (key == KEY_DTYPE) {
        value->number = (int)dtype_from_name(text);
        return value->number != DT_NONE || error_set(err, "filter: no dtype '%.*s'", STR_ARG(text));
    }
    if (key == KEY_PASS) {
        const char *names[COMM_PASS_COUNT];
        for (CommPass pass = 0; pass < COMM_PASS_COUNT; pass++)
            names[pass] = comm_pass_name(pass);
        value->number = row_of(names, 0, COMM_PASS_COUNT, text);
        return value->number >= 0 || unknown("pass", text, names, 0, COMM_PASS_COUNT, err);
    }
    if (key != KEY_IS)
        return true;
    value->number = row_of(states, 0, IS_COUNT, text);
    return value->number >= 0 || unknown("state", text, states, 0, IS_COUNT, err);
}

/* ">=1.5" after ms, us, comm or mib. */
static bool read_limit(Str key, Str text, FilterTerm *term, Error *err)
{
    char number[32] = "";
    char *end;
    bool or_equal = text.n > 1 && text.s[1] == '=';
    size_t skip = or_equal ? 2 : 1;

    term->compare = text.s[0] == '>'   ? or_equal ? MORE_EQUAL : MORE
                    : text.s[0] == '<' ? or_equal ? LESS_EQUAL : LESS
                                       : EQUAL;
    if (text.n - skip < sizeof number)
        memcpy(number, text.s + skip, text.n - skip);
    term->limit = strtod(number, &end);
    if (end == number || *end)
        return error_set(err, "filter: '%.*s' needs a number, for example %.*s>1", STR_ARG(key),
                         STR_ARG(key));
    return true;
}

static bool read_values(Filter *filter, FilterTerm *term, Str text, Error *err)
{
    while (text.n > 0) {
        Str one = str_take(&text, '|');
        if (one.n == 0)
            continue;
        if (term->n == CHOICES_MAX)
            return error_set(err, "filter: at most %d alternatives", CHOICES_MAX);
        if (!read_value(filter, term->key, one, &term->value[term->n++], err))
            return false;
    }
    if (term->n == 0)
        return error_set(err, "filter: '%s:' needs a value", keys[term->key]);
    return true;
}

static bool read_term(Filter *filter, Str word, Error *err)
{
    FilterTerm term = {0};

    term.not = word.s[0] == '!' && word.n > 1;
    if (term.not )
        word = (Str){word.s + 1, word.n - 1};
    size_t n = 0;
    while (n < word.n && !strchr(":<>=", word.s[n]))
        n++;
    Str key = {word.s, n}, rest = {word.s + n, word.n - n};
    if (rest.n == 0 || n == 0)
        rest = word;
    else {
        int row = row_of(keys, 1, KEY_COUNT, key);
        if (row < 0)
            return unknown("key", key, keys, 1, KEY_COUNT, err);
        term.key = (FilterKey)row;
        if (is_numeric(term.key) != (rest.s[0] != ':'))
            return error_set(err, "filter: '%s' takes %s", keys[row],
                             is_numeric(term.key) ? "> or <, for example ms>1" : "a ':'");
        if (is_numeric(term.key)) {
            bool ok = read_limit(key, rest, &term, err);
            vec_push(filter->arena, &filter->terms, term);
            return ok;
        }
        rest = (Str){rest.s + 1, rest.n - 1};
    }
    if (!read_values(filter, &term, rest, err))
        return false;
    vec_push(filter->arena, &filter->terms, term);
    return true;
}

/* ---- what is asked often ---- */

static void mark_tensor(const Graph *graph, uint8_t *pinned, int32_t tensor)
{
    const GraphTensor *row = &graph->tensors[tensor];

    if (row->maker >= 0)
        pinned[row->maker] = 1;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        pinned[graph->uses[row->use + u]] = 1;
}

/* Ops with a pinned index dim, and those that make or read a pinned tensor. */
static uint8_t *find_pinned(Arena *arena, const Session *session)
{
    const Plan *plan = session->plan;
    uint8_t *pinned = arena_array(arena, uint8_t, session->graph->n_ops);

    for (int i = 0; i < plan->decided->n_pins; i++) {
        const Decision *pin = plan->decided->pins[i];
        if (decision_is_on_tensor(pin->kind))
            mark_tensor(session->graph, pinned, pin->place);
        else
            pinned[pin->place] = 1;
    }
    return pinned;
}

static void make_memos(Filter *filter, FilterTerm *term)
{
    const Session *session = filter->source->session;

    if (term->key <= KEY_OP)
        term->by_name = arena_array(filter->arena, uint8_t, session->graph->n_names);
    if (term->key == KEY_AXIS || term->key == KEY_PARTIAL || term->key == KEY_IS) {
        term->by_cut = arena_array(filter->arena, uint8_t, session->plan->propagated->n_cuts);
        term->by_sharding =
            arena_array(filter->arena, uint8_t, shardings_count(session->plan->shardings));
    }
    for (int i = 0; term->key == KEY_IS && i < term->n; i++)
        if (term->value[i].number == IS_PINNED && !filter->pinned)
            filter->pinned = find_pinned(filter->arena, session);
}

Filter *filter_new(const FilterSource *source, Str text, Error *err)
{
    Arena *arena = arena_new();
    Filter *filter = arena_make(arena, Filter);

    *filter = (Filter){.arena = arena, .source = source, .text = arena_str(arena, text)};
    for (Str rest = str_from(filter->text); rest.n > 0;) {
        Str word = str_take(&rest, ' ');
        if (word.n > 0 && !read_term(filter, word, err)) {
            arena_free(arena);
            return NULL;
        }
    }
    for (int t = 0; t < filter->terms.n; t++)
        make_memos(filter, &filter->terms.at[t]);
    return filter;
}

void filter_free(Filter *filter)
{
    if (filter)
        arena_free(filter->arena);
}

const char *filter_text(const Filter *filter)
{
    return filter->text;
}

/* ---- completing ---- */

/* The words that fit so far, and what they have in common. */
typedef struct {
    Str typed;
    int n;
    char common[WORD_MAX];
    Buf *choices;
} FilterCompletion;

static void offer(FilterCompletion *completion, const char *word)
{
    size_t same = 0;

    if (!str_starts(str_from(word), completion->typed) || !*word)
        return;
    if (completion->n++ == 0)
        snprintf(completion->common, sizeof completion->common, "%s", word);
    while (word[same] && word[same] == completion->common[same])
        same++;
    completion->common[same] = '\0';
    buf_printf(completion->choices, "%s%s", completion->n > 1 ? " " : "", word);
}

static void offer_operators(FilterCompletion *completion, const Session *session)
{
    const Graph *graph = session->graph;
    Arena *scratch = arena_new();
    uint8_t *seen = arena_array(scratch, uint8_t, graph->n_names);

    for (int i = 0; i < session->inferred->n_program; i++) {
        int32_t name = graph->ops[session->inferred->program[i]].op_type;
        if (!seen[name])
            offer(completion, names_text(graph->names, name));
        seen[name] = 1;
    }
    arena_free(scratch);
}

static void offer_values(FilterCompletion *completion, const Session *session, Str key)
{
    int row = row_of(keys, 1, KEY_COUNT, key);

    for (int i = 0; i < IS_COUNT && row == KEY_IS; i++)
        offer(completion, states[i]);
    for (CommPass pass = 0; pass < COMM_PASS_COUNT && row == KEY_PASS; pass++)
        offer(completion, comm_pass_name(pass));
    for (int k = 0; k < STEP_KIND_COUNT && row == KEY_KIND; k++)
        offer(completion, step_kind_mark((StepKind)k));
    for (int a = 0; a < session->mesh->n_axes && (row == KEY_AXIS || row == KEY_PARTIAL); a++)
        offer(completion, session->mesh->axes[a].name);
    for (int d = DT_NONE + 1; d < DT_COUNT && row == KEY_DTYPE; d++)
        offer(completion, dtype_name((Dtype)d));
    if (row == KEY_AXIS || row == KEY_PARTIAL)
        offer(completion, "any");
    if (row == KEY_OP)
        offer_operators(completion, session);
}

void filter_complete(const FilterSource *source, Str text, Buf *out, Buf *choices)
{
    size_t word = text.n, value = text.n;

    while (word > 0 && text.s[word - 1] != ' ' && text.s[word - 1] != '!')
        word--;
    while (value > word && text.s[value - 1] != ':' && text.s[value - 1] != '|')
        value--;
    FilterCompletion completion = {.typed = {text.s + value, text.n - value}, .choices = choices};
    const char *colon = memchr(text.s + word, ':', text.n - word);
    if (colon)
        offer_values(&completion, source->session,
                     (Str){text.s + word, (size_t)(colon - text.s) - word});
    for (int k = 1; k < KEY_COUNT && !colon; k++)
        offer(&completion, keys[k]);
    buf_add(out, (Str){text.s, value});
    if (completion.n == 0)
        buf_add(out, completion.typed);
    else
        buf_puts(out, completion.common);
    if (completion.n == 1 && !colon)
        buf_putc(out, is_numeric((FilterKey)row_of(keys, 1, KEY_COUNT, str_from(completion.common)))
                          ? '>'
                          : ':');
    if (completion.n < 2)
        choices->n = 0;
}
