#include "core/model/group_tree.h"

#include "core/model/group.h"
#include "core/model/period.h"

#include <limits.h>

/* ---- names ---- */

bool group_names_alike(const char *a, const char *b)
{
    for (;;) {
        if (is_digit(*a) && is_digit(*b)) {
            while (is_digit(*a))
                a++;
            while (is_digit(*b))
                b++;
        }
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
        a++;
        b++;
    }
}

/* ---- the tree of paths ---- */

static int32_t add_node(GroupTree *tree, Str path, size_t name, int32_t parent)
{
    int32_t id = names_intern(tree->paths, path);
    if (id == tree->nodes.n) {
        int32_t depth = tree->nodes.at[parent].depth + 1;
        vec_push(tree->arena, &tree->nodes, (GroupNode){parent, depth, name});
    }
    return id;
}

static int32_t add_path(GroupTree *tree, Str path)
{
    int32_t node = 0;
    size_t name = 0;
    for (size_t i = 0; i < path.n && tree->nodes.at[node].depth < GROUP_DEPTH_MAX - 1; i++) {
        if (path.s[i] != '.')
            continue;
        node = add_node(tree, (Str){path.s, i}, name, node);
        name = i + 1;
    }
    return path.n > 0 ? add_node(tree, path, name, node) : 0;
}

static int32_t common_node(const GroupTree *tree, int32_t a, int32_t b)
{
    const GroupNode *nodes = tree->nodes.at;
    while (a != b)
        if (nodes[a].depth >= nodes[b].depth)
            a = nodes[a].parent;
        else
            b = nodes[b].parent;
    return a;
}

/* The deepest node that the neighbours of op `k` share, -1 when it has none. Graph inputs and
 * outputs count as the root. */
static int32_t node_of_neighbours(const GroupTree *tree, int32_t k)
{
    const Graph *graph = tree->graph;
    int32_t op = tree->shown[k], node = -1;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor >= 0 && graph->tensors[tensor].kind == TENSOR_INPUT)
            return 0;
        int32_t maker = tensor < 0 ? -1 : graph->tensors[tensor].maker;
        if (maker < 0 || tree->place[maker] < 0)
            continue;
        int32_t near = tree->node[tree->place[maker]];
        node = node < 0 ? near : common_node(tree, node, near);
    }
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        if (tensor >= 0 && graph->tensors[tensor].output)
            return 0;
        for (int use = 0; tensor >= 0 && node != 0 && use < tensor_n_uses(graph, tensor); use++) {
            int32_t user = graph->uses[graph->tensors[tensor].use + use];
            if (tree->place[user] < 0 || graph->ops[user].path == 0)
                continue;
            int32_t near = tree->node[tree->place[user]];
            node = node < 0 ? near : common_node(tree, node, near);
        }
    }
    return node;
}

static void find_nodes(GroupTree *tree)
{
    const Graph *graph = tree->graph;
    int32_t *node_of_path = arena_array(tree->arena, int32_t, graph->n_names);
    memset(node_of_path, -1, (size_t)graph->n_names * sizeof *node_of_path);
    for (int32_t k = 0; k < tree->n_shown; k++) {
        int32_t path = graph->ops[tree->shown[k]].path;
        if (node_of_path[path] < 0)
            node_of_path[path] = add_path(tree, names_str(graph->names, path));
        tree->node[k] = node_of_path[path];
    }
    if (tree->nodes.n == 1)
        return;
    for (int32_t k = 0; k < tree->n_shown; k++)
        if (graph->ops[tree->shown[k]].path == 0) {
            int32_t node = node_of_neighbours(tree, k);
            tree->node[k] = node < 0 ? 0 : node;
        }
}

/* ---- ops on parameters ---- */

/* Moves each op with before[k] != k before that op; ops moved to one place keep their order. */
static void reorder(GroupTree *tree, const int32_t *before)
{
    int32_t n = tree->n_shown;
    int32_t *at = arena_array(tree->arena, int32_t, n + 1);
    for (int32_t k = 0; k < n; k++)
        at[before[k] + 1]++;
    for (int32_t k = 0; k < n; k++)
        at[k + 1] += at[k];
    int32_t *shown = arena_array(tree->arena, int32_t, n),
            *node = arena_array(tree->arena, int32_t, n);
    for (int pass = 0; pass < 2; pass++)
        for (int32_t k = 0; k < n; k++)
            if ((before[k] == k) == (pass == 1)) {
                int32_t to = at[before[k]]++;
                shown[to] = tree->shown[k];
                node[to] = tree->node[k];
            }
    tree->shown = shown;
    tree->node = node;
    for (int32_t k = 0; k < n; k++)
        tree->place[shown[k]] = k;
}

/* Whether op k reads parameters, or results of such ops, and nothing else. */
static bool is_on_parameters(const GroupTree *tree, const bool *on_parameters, int32_t k)
{
    const Graph *graph = tree->graph;
    int32_t op = tree->shown[k], n = 0;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor < 0)
            continue;
        int32_t maker = graph->tensors[tensor].maker;
        bool made = maker >= 0 && tree->place[maker] >= 0 && on_parameters[tree->place[maker]];
        if (!made && graph->tensors[tensor].kind != TENSOR_INITIALIZER)
            return false;
        n++;
    }
    return n > 0;
}

/* The place of the first reader of op k, or -1 if it has none, is an output of the graph, or has
 * readers in several modules. before[]: where the ops behind k are moved. */
static int32_t place_of_reader(const GroupTree *tree, const int32_t *before, int32_t k)
{
    const Graph *graph = tree->graph;
    int32_t op = tree->shown[k], first = -1, node = -1;
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        if (tensor >= 0 && graph->tensors[tensor].output)
            return -1;
        int n_uses = tensor < 0 ? 0 : tensor_n_uses(graph, tensor);
        for (int use = 0; use < n_uses; use++) {
            int32_t reader = tree->place[graph->uses[graph->tensors[tensor].use + use]];
            if (reader < 0)
                continue;
            if (node >= 0 && tree->node[reader] != node)
                return -1;
            node = tree->node[reader];
            first = first < 0 || before[reader] < first ? before[reader] : first;
        }
    }
    return first;
}

/* Exporters put Identity ops on weights, and the like, before everything else: each is moved to the
 * module that reads it, before the first reader. */
static void move_to_readers(GroupTree *tree)
{
    int32_t n = tree->n_shown, n_moved = 0;
    bool *on_parameters = arena_array(tree->arena, bool, n);
    int32_t *before = arena_array(tree->arena, int32_t, n);
    for (int32_t k = 0; k < n; k++) {
        before[k] = k;
        on_parameters[k] = is_on_parameters(tree, on_parameters, k);
    }
    for (int32_t k = n - 1; k >= 0; k--) {
        int32_t reader = on_parameters[k] ? place_of_reader(tree, before, k) : -1;
        bool inside = reader >= 0 &&
                      common_node(tree, tree->node[k], tree->node[reader]) == tree->node[reader] &&
                      tree->node[k] != tree->node[reader];
        if (reader <= k + 1 || inside) /* of a module that is inside the reader's */
            continue;
        before[k] = reader;
        tree->node[k] = tree->node[reader];
        n_moved++;
    }
    if (n_moved > 0)
        reorder(tree, before);
}

/* ---- shared ops ---- */

static const char *node_name(const GroupTree *tree, int32_t node)
{
    return names_text(tree->paths, node) + tree->nodes.at[node].name;
}

static bool names_alike(const GroupTree *tree, int32_t a, int32_t b)
{
    return a == b || group_names_alike(node_name(tree, a), node_name(tree, b));
}

/* The node that holds op k and all that read it. */
static int32_t node_of_readers(const GroupTree *tree, int32_t k)
{
    const Graph *graph = tree->graph;
    int32_t op = tree->shown[k], node = tree->node[k];
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        int n_uses = tensor < 0 ? 0 : tensor_n_uses(graph, tensor);
        for (int use = 0; node != 0 && use < n_uses; use++) {
            int32_t reader = tree->place[graph->uses[graph->tensors[tensor].use + use]];
            if (reader >= 0)
                node = common_node(tree, node, tree->node[reader]);
        }
    }
    return node;
}

/* Whether op k is read in `child` and in similarly named siblings of it, and nowhere else. */
static bool is_shared(const GroupTree *tree, int32_t k, int32_t child)
{
    const Graph *graph = tree->graph;
    int32_t op = tree->shown[k], depth = tree->nodes.at[child].depth;
    bool inside = false;
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        int n_uses = tensor < 0 ? 0 : tensor_n_uses(graph, tensor);
        for (int use = 0; use < n_uses; use++) {
            int32_t reader = tree->place[graph->uses[graph->tensors[tensor].use + use]];
            if (reader < 0)
                continue;
            int32_t node = node_at_depth(tree, tree->node[reader], depth);
            if (tree->nodes.at[node].depth != depth || !names_alike(tree, child, node))
                return false;
            inside = inside || node == child;
        }
    }
    return inside;
}

/* before[k]: the place that op k is moved before; k itself where it stays. */
static bool may_move(const GroupTree *tree, const int32_t *before, int32_t k, int32_t target)
{
    const Graph *graph = tree->graph;
    int32_t op = tree->shown[k];
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        int32_t maker = tensor < 0 ? -1 : graph->tensors[tensor].maker;
        int32_t from = maker < 0 ? -1 : tree->place[maker];
        bool moved = from >= 0 && before[from] != from;
        if (from >= 0 && (moved ? before[from] > target : from >= target))
            return false;
    }
    return true;
}

/* first[n]: the first op in node n or below. */
static int32_t *first_of_nodes(const GroupTree *tree)
{
    int32_t *first = arena_array(tree->arena, int32_t, tree->nodes.n);
    for (int32_t n = 0; n < tree->nodes.n; n++)
        first[n] = tree->n_shown;
    for (int32_t k = 0; k < tree->n_shown; k++)
        for (int32_t n = tree->node[k]; n >= 0 && first[n] == tree->n_shown;
             n = tree->nodes.at[n].parent)
            first[n] = k;
    return first;
}

/* Moves ops that read nothing of their group and are read in it and in similar groups. */
static void move_shared(GroupTree *tree)
{
    int32_t *first = first_of_nodes(tree), n_moved = 0;
    int32_t *before = arena_array(tree->arena, int32_t, tree->n_shown);
    for (int32_t k = 0; k < tree->n_shown; k++) {
        before[k] = k;
        int32_t node = node_of_readers(tree, k);
        if (node == tree->node[k])
            continue;
        int32_t child = node_at_depth(tree, tree->node[k], tree->nodes.at[node].depth + 1);
        if (first[child] <= k && is_shared(tree, k, child) &&
            may_move(tree, before, k, first[child])) {
            before[k] = first[child];
            tree->node[k] = node;
            n_moved++;
        }
    }
    if (n_moved > 0)
        reorder(tree, before);
}

/* ---- blocks, where there are no paths ---- */

enum { BLOCK_OPS_MIN = 4 }; /* repeated stretches of fewer ops in all are not worth a group */

/* The place of the last shown op that reads an output of op k; n_shown if it is an output of the
 * graph. */
static int32_t last_reader(const GroupTree *tree, int32_t k)
{
    const Graph *graph = tree->graph;
    int32_t op = tree->shown[k], last = k;
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        if (tensor < 0)
            continue;
        if (graph->tensors[tensor].output)
            return tree->n_shown;
        int n_uses = tensor_n_uses(graph, tensor);
        for (int use = 0; use < n_uses; use++) {
            int32_t user = tree->place[graph->uses[graph->tensors[tensor].use + use]];
            last = user > last ? user : last;
        }
    }
    return last;
}

/* The best place for the first block to start: where the fewest values of the stretch are alive
 * between the first two blocks. */
static int32_t narrowest_start(const GroupTree *tree, const Period *period)
{
    int32_t start = period->start, n = period->size + period->spare + 1;
    int32_t *change = arena_array(tree->arena, int32_t, n + 1);
    for (int32_t i = 0; i < n - 1; i++) {
        int32_t end = last_reader(tree, start + i) - start;
        change[i + 1]++;
        change[end < n ? end + 1 : n]--;
    }
    int32_t best = 0, best_alive = INT32_MAX;
    for (int32_t i = 0, alive = 0; i < n; i++) {
        alive += change[i];
        if (i >= period->size && alive < best_alive) {
            best_alive = alive;
            best = i - period->size;
        }
    }
    return start + best;
}

static void find_blocks(GroupTree *tree)
{
    int32_t *symbols = arena_array(tree->arena, int32_t, tree->n_shown);
    for (int32_t k = 0; k < tree->n_shown; k++)
        symbols[k] = tree->structure[tree->shown[k]];
    Period period = period_find(tree->arena, symbols, tree->n_shown);
    if (period.count * period.size < BLOCK_OPS_MIN)
        return;
    int32_t k = narrowest_start(tree, &period);
    for (int32_t block = 0; block < period.count; block++) {
        const char *path = arena_printf(tree->arena, "block[%d]", block);
        int32_t node = add_node(tree, str_from(path), 0, 0);
        for (int32_t i = 0; i < period.size; i++)
            tree->node[k++] = node;
    }
}

/* ---- all of it ---- */

GroupTree *group_tree_new(Arena *arena, const Graph *graph, const int32_t *shown, int32_t n_shown,
                          const int32_t *structure)
{
    GroupTree *tree = arena_make(arena, GroupTree);
    *tree = (GroupTree){.arena = arena,
                        .graph = graph,
                        .structure = structure,
                        .n_shown = n_shown,
                        .shown = arena_array(arena, int32_t, n_shown),
                        .place = arena_array(arena, int32_t, graph->n_ops),
                        .paths = names_new(arena),
                        .node = arena_array(arena, int32_t, n_shown)};
    memset(tree->place, -1, (size_t)graph->n_ops * sizeof *tree->place);
    for (int32_t k = 0; k < n_shown; k++) {
        tree->shown[k] = shown[k];
        tree->place[shown[k]] = k;
    }
    vec_push(arena, &tree->nodes, (GroupNode){.parent = -1}); /* of the empty path, whose id is 0 */
    find_nodes(tree);
    if (tree->nodes.n == 1) {
        find_blocks(tree);
    } else {
        move_to_readers(tree);
        move_shared(tree);
    }
    return tree;
}
