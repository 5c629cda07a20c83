#include "core/model/group_fold.h"

#include <stdlib.h>

/* ---- equality ---- */

typedef struct {
    const Graph *graph;
    const int32_t *signature, *structure;
    Groups *groups;
    int32_t *place; /* per op: its place in groups->order, or -1 */
    uint16_t *slot; /* per tensor: which output of its maker it is */
} Folding;

/* The origin of an operand, relative to a group. */
typedef struct {
    int32_t from; /* place of its maker in the group; OUTSIDE, ABSENT */
    uint16_t slot;
} OperandOrigin;

enum { OUTSIDE = -1, ABSENT = -2 };

static OperandOrigin origin_of(const Folding *folding, const Group *group, int32_t tensor)
{
    if (tensor < 0)
        return (OperandOrigin){ABSENT, 0};
    int32_t maker = folding->graph->tensors[tensor].maker;
    int32_t from = maker < 0 ? -1 : folding->place[maker] - group->first;
    if (from < 0 || from >= group->n)
        return (OperandOrigin){OUTSIDE, 0};
    return (OperandOrigin){from, folding->slot[tensor]};
}

/* Whether two stretches of ops have equal keys and the same wiring. */
static bool ops_match(const Folding *folding, const int32_t *key, const Group *a, const Group *b,
                      int32_t i)
{
    const Graph *graph = folding->graph;
    int32_t op_a = folding->groups->order[a->first + i],
            op_b = folding->groups->order[b->first + i];
    const GraphOp *row_a = &graph->ops[op_a], *row_b = &graph->ops[op_b];
    if (key[op_a] != key[op_b] || row_a->op_type != row_b->op_type ||
        row_a->n_inputs != row_b->n_inputs || row_a->n_outputs != row_b->n_outputs)
        return false;
    for (int operand = 0; operand < row_a->n_inputs; operand++) {
        OperandOrigin from_a = origin_of(folding, a, op_inputs(graph, op_a)[operand]);
        OperandOrigin from_b = origin_of(folding, b, op_inputs(graph, op_b)[operand]);
        if (from_a.from != from_b.from || from_a.slot != from_b.slot)
            return false;
    }
    return true;
}

/* The layers right in two cycles have numbers of their own. */
static bool inner_names_match(const Group *at, int32_t around, int32_t a, int32_t b)
{
    if (at[around].cycle && at[a].parent == around)
        return group_names_alike(at[a].name, at[b].name);
    return strcmp(at[a].name, at[b].name) == 0;
}

/* Whether the groups inside a and b, which follow them in the table, match. */
static bool insides_match(const Folding *folding, int32_t a, int32_t b)
{
    const Groups *groups = folding->groups;
    const Group *at = groups->groups;
    int32_t end_a = at[a].first + at[a].n, end_b = at[b].first + at[b].n;
    for (int32_t i = 1;; i++) {
        bool in_a = a + i < groups->n_groups && at[a + i].first < end_a;
        bool in_b = b + i < groups->n_groups && at[b + i].first < end_b;
        if (!in_a || !in_b)
            return in_a == in_b;
        if (at[a + i].depth != at[b + i].depth || at[a + i].n != at[b + i].n ||
            at[a + i].first - at[a].first != at[b + i].first - at[b].first ||
            !inner_names_match(at, a, a + i, b + i))
            return false;
    }
}

static bool kinds_match(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool groups_match(const Folding *folding, const int32_t *key, int32_t a, int32_t b)
{
    const Group *group_a = &folding->groups->groups[a], *group_b = &folding->groups->groups[b];
    if (group_a->n != group_b->n || !kinds_match(group_a->kind, group_b->kind) ||
        !group_names_alike(group_a->name, group_b->name) || !insides_match(folding, a, b))
        return false;
    for (int32_t i = 0; i < group_a->n; i++)
        if (!ops_match(folding, key, group_a, group_b, i))
            return false;
    return true;
}

/* ---- cycles ---- */

/* Children [start, end) of a group, of which each equals the one `period` before it. */
typedef struct {
    int32_t start, end, period;
} CycleRun;
typedef Vec(CycleRun) CycleRuns;

typedef struct {
    int32_t last;      /* group; 0: no cycle */
    const char *words; /* Group.cycle */
} Cycle;

typedef struct {
    const Folding *folding;
    Arena *arena, *scratch;
    int32_t *child; /* neighbours that are named alike */
    int32_t n;
    bool *taken;  /* per child: it is in a run that was chosen */
    Cycle *cycle; /* per group: the cycle that it begins */
    int32_t n_cycles;
} CycleSearch;

/* ---- what the layers of a cycle are called ---- */

/* Whether a layer has a child of that name. */
static bool has_child(const Groups *groups, int32_t layer, const char *name)
{
    for (int32_t c = groups->groups[layer].child; c >= 0; c = groups->groups[c].next)
        if (strcmp(groups->groups[c].name, name) == 0)
            return true;
    return false;
}

/* The kind that the model gives the layer; else a module that no layer of another class in the
 * cycle has; NULL if there is neither. class_of: per layer, the first layer that equals it. */
static const char *layer_word(const CycleSearch *search, const int32_t *layer,
                              const int32_t *class_of, int32_t n, int32_t at)
{
    const Groups *groups = search->folding->groups;
    if (groups->groups[layer[at]].kind)
        return groups->groups[layer[at]].kind;
    for (int32_t c = groups->groups[layer[at]].child; c >= 0; c = groups->groups[c].next) {
        bool own = true;
        for (int32_t i = 0; i < n && own; i++)
            own =
                class_of[i] == class_of[at] || !has_child(groups, layer[i], groups->groups[c].name);
        if (own)
            return groups->groups[c].name;
    }
    return NULL;
}

enum { CYCLE_WORDS_MAX = 40 }; /* bytes */

/* "local \xc3\x975, global"; "" if two classes cannot be told apart by words. */
static const char *cycle_words(const CycleSearch *search, const int32_t *layer, int32_t n)
{
    const Folding *folding = search->folding;
    int32_t class_of[CYCLE_LAYERS_MAX];
    const char *word[CYCLE_LAYERS_MAX];
    for (int32_t i = 0; i < n; i++) {
        class_of[i] = 0;
        while (!groups_match(folding, folding->structure, layer[class_of[i]], layer[i]))
            class_of[i]++;
    }
    for (int32_t i = 0; i < n; i++) {
        word[i] = layer_word(search, layer, class_of, n, class_of[i]);
        for (int32_t k = 0; k < i && word[i]; k++)
            if (class_of[k] != class_of[i] && strcmp(word[k], word[i]) == 0)
                return "";
        if (!word[i])
            return "";
    }
    Buf out = buf_new(search->arena);
    for (int32_t i = 0, equal; i < n; i += equal) {
        for (equal = 1; i + equal < n && class_of[i + equal] == class_of[i];)
            equal++;
        buf_printf(&out, "%s%s", i > 0 ? ", " : "", word[i]);
        if (equal > 1)
            buf_printf(&out, " \xc3\x97%d", equal);
    }
    return out.n > CYCLE_WORDS_MAX ? "" : out.s;
}

/* ---- runs of equal layers and of cycles ---- */

static int32_t whole_words(const CycleRun *run)
{
    return (run->end - run->start) / run->period;
}

/* Runs that cover more layers first, then those with the shorter period, then the earlier. */
static int compare_runs(const void *a, const void *b)
{
    const CycleRun *x = a, *y = b;
    int32_t covered_x = whole_words(x) * x->period, covered_y = whole_words(y) * y->period;
    if (covered_x != covered_y)
        return covered_x > covered_y ? -1 : 1;
    if (x->period != y->period)
        return x->period < y->period ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void add_runs(const CycleSearch *search, int32_t period, CycleRuns *runs)
{
    const Folding *folding = search->folding;
    int32_t start = 0;
    for (int32_t i = period; i <= search->n; i++) {
        if (i < search->n &&
            groups_match(folding, folding->structure, search->child[i - period], search->child[i]))
            continue;
        CycleRun run = {start, i, period};
        if (whole_words(&run) > 1)
            vec_push(search->scratch, runs, run);
        start = i - period + 1;
    }
}

/* Chooses the run as far as no longer one has its layers. A run of period 1 is a plain fold. */
static void choose_run(CycleSearch *search, CycleRun run)
{
    while (run.start < run.end && search->taken[run.start])
        run.start++;
    for (int32_t i = run.end - 1; i > run.start; i--)
        run.end = search->taken[i] ? i : run.end;
    int32_t n = whole_words(&run);
    if (n < 2)
        return;
    for (int32_t i = 0; i < n * run.period; i++)
        search->taken[run.start + i] = true;
    if (run.period == 1)
        return;
    const char *words = cycle_words(search, search->child + run.start, run.period);
    for (int32_t i = 0; i < n; i++) {
        int32_t first = run.start + i * run.period;
        search->cycle[search->child[first]] = (Cycle){search->child[first + run.period - 1], words};
        search->n_cycles++;
    }
}

static void find_cycles_of(CycleSearch *search)
{
    CycleRuns runs = {0};
    for (int32_t period = 1; period <= CYCLE_LAYERS_MAX && period < search->n; period++) {
        add_runs(search, period, &runs);
        if (runs.n > 0 && whole_words(&runs.at[0]) == search->n)
            return; /* all are equal */
    }
    if (runs.n == 0)
        return;
    qsort(runs.at, (size_t)runs.n, sizeof *runs.at, compare_runs);
    memset(search->taken, 0, (size_t)search->n * sizeof *search->taken);
    for (int32_t i = 0; i < runs.n; i++)
        choose_run(search, runs.at[i]);
}

static void find_cycles(CycleSearch *search, const Groups *groups)
{
    const Group *at = groups->groups;
    for (int32_t parent = 0; parent < groups->n_groups; parent++) {
        search->n = 0;
        for (int32_t c = at[parent].child; c >= 0; c = at[c].next) {
            int32_t before = search->n > 0 ? search->child[search->n - 1] : -1;
            if (before >= 0 && (at[before].first + at[before].n != at[c].first ||
                                !group_names_alike(at[before].name, at[c].name))) {
                find_cycles_of(search);
                search->n = 0;
            }
            search->child[search->n++] = c;
        }
        find_cycles_of(search);
    }
}

/* ---- cycles become groups ---- */

/* "h.0" to "h.1" as "0..1", after what they have in common: "layer_0..1". */
static const char *range_name(Arena *arena, const char *first, const char *last)
{
    Str from, to;
    size_t at = group_differing_number(str_from(first), str_from(last), &from, &to);
    return arena_printf(arena, "%.*s%.*s..%.*s%s", (int)at, first, STR_ARG(from), STR_ARG(to),
                        from.s + from.n);
}

static Group new_cycle(Arena *arena, const Groups *groups, int32_t first, const Cycle *cycle)
{
    const Group *from = &groups->groups[first], *to = &groups->groups[cycle->last];
    const char *name = range_name(arena, from->name, to->name);
    Str parent = {from->path, (size_t)(from->name - from->path)};
    const char *path = arena_printf(arena, "%.*s%s", STR_ARG(parent), name);
    return (Group){.parent = from->parent,
                   .first = from->first,
                   .n = to->first + to->n - from->first,
                   .name = path + parent.n,
                   .path = path,
                   .cycle = cycle->words};
}

/* Links children to their parents, which stand before them. */
static void link_groups(Arena *scratch, Groups *groups)
{
    int32_t *latest = arena_array(scratch, int32_t, groups->n_groups);
    for (int32_t g = 0; g < groups->n_groups; g++) {
        Group *group = &groups->groups[g];
        group->child = group->next = -1;
        group->fold = group->alike = g;
        group->fold_n = group->alike_n = 1;
        latest[g] = -1;
        if (g == 0)
            continue;
        group->depth = (int16_t)(groups->groups[group->parent].depth + 1);
        int32_t before = latest[group->parent];
        *(before < 0 ? &groups->groups[group->parent].child : &groups->groups[before].next) = g;
        latest[group->parent] = g;
    }
}

static void add_cycles(const CycleSearch *search, Groups *groups)
{
    int32_t n_old = groups->n_groups, n = 0;
    const Group *old = groups->groups;
    Group *all = arena_array(search->arena, Group, n_old + search->n_cycles);
    int32_t *id = arena_array(search->scratch, int32_t, n_old);    /* the new one of each old */
    int32_t *cycle = arena_array(search->scratch, int32_t, n_old); /* that each old is right in */
    for (int32_t g = 0; g < n_old; g++) {
        if (search->cycle[g].last > 0) {
            for (int32_t c = g, end = old[search->cycle[g].last].next; c != end; c = old[c].next)
                cycle[c] = n;
            all[n] = new_cycle(search->arena, groups, g, &search->cycle[g]);
            all[n].parent = id[all[n].parent];
            n++;
        }
        all[n] = old[g];
        all[n].parent = cycle[g] > 0 ? cycle[g] : g == 0 ? -1 : id[old[g].parent];
        id[g] = n++;
    }
    groups->groups = all;
    groups->n_groups = n;
    for (int32_t i = 0; i < groups->n_order; i++)
        groups->group_of[groups->order[i]] = id[groups->group_of[groups->order[i]]];
    link_groups(search->scratch, groups);
}

static void group_cycles(Arena *arena, Arena *scratch, const Folding *folding)
{
    Groups *groups = folding->groups;
    CycleSearch search = {.folding = folding,
                          .arena = arena,
                          .scratch = scratch,
                          .child = arena_array(scratch, int32_t, groups->n_groups),
                          .taken = arena_array(scratch, bool, groups->n_groups),
                          .cycle = arena_array(scratch, Cycle, groups->n_groups)};
    find_cycles(&search, groups);
    if (search.n_cycles > 0)
        add_cycles(&search, groups);
}

/* ---- folds ---- */

/* Folds the children of a group. Members of a fold are equal, so only its first member is searched
 * for further folds. */
static void fold_children(const Folding *folding, int32_t parent)
{
    Group *at = folding->groups->groups;
    int32_t head = at[parent].child;
    if (head < 0)
        return;
    for (int32_t before = head, child = at[head].next; child >= 0;
         before = child, child = at[child].next) {
        bool is_neighbour = at[before].first + at[before].n == at[child].first;
        bool is_equal = is_neighbour && groups_match(folding, folding->signature, head, child);
        bool is_alike = is_equal || (is_neighbour && folding->structure != folding->signature &&
                                     groups_match(folding, folding->structure, head, child));
        if (is_alike) {
            at[child].alike = at[before].alike;
            at[at[child].alike].alike_n++;
        }
        if (is_equal) {
            at[child].fold = head;
            at[head].fold_n++;
        } else {
            head = child;
        }
    }
}

/* ---- all of it ---- */

void groups_find_folds(Arena *arena, const GroupTree *tree, Groups *groups)
{
    const Graph *graph = tree->graph;
    Arena *scratch = arena_new();
    Folding folding = {.graph = graph,
                       .signature = groups->signature,
                       .structure = tree->structure,
                       .groups = groups,
                       .place = tree->place};
    for (int32_t i = 0; i < groups->n_order; i++)
        folding.place[groups->order[i]] = i;
    folding.slot = arena_array(scratch, uint16_t, graph->n_tensors);
    for (int32_t op = 0; op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_outputs; i++)
            if (op_outputs(graph, op)[i] >= 0)
                folding.slot[op_outputs(graph, op)[i]] = (uint16_t)i;
    group_cycles(arena, scratch, &folding);
    for (int32_t group = 0; group < groups->n_groups; group++)
        fold_children(&folding, group);
    arena_free(scratch);
}
