/* trees.c - regression and classes by trees: TreeEnsemble, and the two operators before it, whose
 * nodes are found by the numbers of tree and node. Source: ONNX's reference; where it leaves a
 * question, what onnxruntime computes. Weights of the older two that are tensors are refused. */
#include "core/base/intern.h"
#include "core/run/classical/table.h"

#include <math.h>

/* The comparisons have the numbers that TreeEnsemble gives them. */
typedef enum {
    NODE_LEQ,
    NODE_LT,
    NODE_GTE,
    NODE_GT,
    NODE_EQ,
    NODE_NEQ,
    NODE_MEMBER,
    NODE_LEAF,
    NODE_COUNT
} NodeMode;

typedef struct {
    NodeMode mode;
    bool missing; /* NaN goes to the true branch */
    int64_t feature;
    double value;
    int32_t child[2];          /* false, true; -1: there is no such node */
    int32_t leaf;              /* the first of its leaves, or -1 */
    int32_t member, n_members; /* NODE_MEMBER: the values that go to the true branch */
} TreeNode;

typedef struct {
    int64_t target;
    double weight;
    int32_t next; /* of the same node, or -1 */
} TreeLeaf;

typedef enum { PUT_AVERAGE, PUT_SUM, PUT_MIN, PUT_MAX, PUT_COUNT } Aggregate;

/* Each row goes down every tree, and what the leaves that it ends in weigh is put together by
 * target. */
typedef struct {
    int n_nodes, n_leaves, n_trees;
    TreeNode *node;
    TreeLeaf *leaf;
    int32_t *root;
    double *member;
    const Attr *base; /* added to each target, or NULL */
    Aggregate aggregate;
    int64_t n_columns, n_targets;
    bool *reached; /* per target: scratch of put_row() */
} Trees;

/* ---- the lists of the older two ---- */

/* The list if it has n elements of that type, or whole numbers for floats; else *err is set, unless
 * it is not needed. */
static const Attr *list_named(const KernelCall *call, const char *name, AttrType type, int n,
                              bool needed, Error *err)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, name);
    bool whole = attr && type == ATTR_FLOATS && attr->type == ATTR_INTS;
    if (attr && (attr->type == type || whole) && attr->n == n)
        return attr;
    if (needed || (attr && attr->n > 0))
        error_kind(err, ERROR_RUN, "%s does not have %d elements", name, n);
    return NULL;
}

static int length_of(const KernelCall *call, const char *name)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, name);
    return attr && attr->type == ATTR_INTS ? attr->n : 0;
}

static NodeMode mode_named(Str name)
{
    static const char *const names[NODE_COUNT] = {/* ORDER NodeMode */
                                                  "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                  "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ",
                                                  "",           "LEAF"};
    return (NodeMode)word_among(name, names, NODE_COUNT);
}

/* -1: there is no such node. */
static int32_t place_of(const Intern *places, int64_t tree, int64_t node)
{
    const int64_t key[2] = {tree, node};
    return intern_find(places, key, sizeof key);
}

/* Nodes are found by tree and number; the first of a tree is its root. */
static bool find_nodes(const KernelCall *call, Trees *t, const Attr *tree, const Attr *node,
                       Intern *places, Error *err)
{
    Intern *trees = intern_new(call->scratch);
    for (int i = 0; i < t->n_nodes; i++) {
        const int64_t key[2] = {tree->ints[i], node->ints[i]};
        if (intern_put(places, key, sizeof key) != i)
            return error_kind(err, ERROR_RUN, "node %" PRId64 " of tree %" PRId64 " is there twice",
                              key[1], key[0]);
        if (intern_put(trees, key, sizeof *key) == t->n_trees)
            t->root[t->n_trees++] = i;
    }
    return true;
}

static bool read_nodes(const KernelCall *call, Trees *t, Intern *places, Error *err)
{
    int n = t->n_nodes = length_of(call, "nodes_nodeids");
    const Attr *tree = list_named(call, "nodes_treeids", ATTR_INTS, n, true, err);
    const Attr *node = list_named(call, "nodes_nodeids", ATTR_INTS, n, true, err);
    const Attr *feature = list_named(call, "nodes_featureids", ATTR_INTS, n, true, err);
    const Attr *mode = list_named(call, "nodes_modes", ATTR_STRINGS, n, true, err);
    const Attr *value = list_named(call, "nodes_values", ATTR_FLOATS, n, true, err);
    const Attr *yes = list_named(call, "nodes_truenodeids", ATTR_INTS, n, true, err);
    const Attr *no = list_named(call, "nodes_falsenodeids", ATTR_INTS, n, true, err);
    const Attr *missing =
        list_named(call, "nodes_missing_value_tracks_true", ATTR_INTS, n, false, err);
    t->node = arena_array(call->scratch, TreeNode, n);
    t->root = arena_array(call->scratch, int32_t, n);
    if (error_is_set(err) || !find_nodes(call, t, tree, node, places, err))
        return false;
    for (int i = 0; i < n; i++) {
        TreeNode *to = &t->node[i];
        *to = (TreeNode){.mode = mode_named(mode->strings[i]),
                         .missing = missing && missing->ints[i] != 0,
                         .feature = feature->ints[i],
                         .value = number_at(value, i),
                         .child = {place_of(places, tree->ints[i], no->ints[i]),
                                   place_of(places, tree->ints[i], yes->ints[i])},
                         .leaf = -1};
        if (to->mode == NODE_COUNT)
            return error_kind(err, ERROR_RUN, "mode %.*s is not known", STR_ARG(mode->strings[i]));
    }
    return true;
}

static bool is_target(const Trees *t, int64_t target, int leaf, Error *err)
{
    return (target >= 0 && target < t->n_targets) ||
           error_kind(err, ERROR_RUN, "its leaf %d has no target", leaf);
}

/* prefix: of the attributes of leaves, "target" or "class". */
static bool read_leaves(const KernelCall *call, Trees *t, const char *prefix, const Intern *places,
                        Error *err)
{
#define NAMED(ending) arena_printf(call->scratch, "%s_%s", prefix, ending)
    int m = t->n_leaves = length_of(call, NAMED("nodeids"));
    const Attr *tree = list_named(call, NAMED("treeids"), ATTR_INTS, m, true, err);
    const Attr *node = list_named(call, NAMED("nodeids"), ATTR_INTS, m, true, err);
    const Attr *target = list_named(call, NAMED("ids"), ATTR_INTS, m, true, err);
    const Attr *weight = list_named(call, NAMED("weights"), ATTR_FLOATS, m, true, err);
#undef NAMED
    t->base = list_named(call, "base_values", ATTR_FLOATS, (int)t->n_targets, false, err);
    t->leaf = arena_array(call->scratch, TreeLeaf, m);
    for (int i = m - 1; !error_is_set(err) && i >= 0; i--) {
        int32_t at = place_of(places, tree->ints[i], node->ints[i]);
        if (at < 0)
            return error_kind(err, ERROR_RUN, "its leaf %d has no node", i);
        if (!is_target(t, target->ints[i], i, err))
            return false;
        t->leaf[i] = (TreeLeaf){target->ints[i], number_at(weight, i), t->node[at].leaf};
        t->node[at].leaf = i;
    }
    return !error_is_set(err);
}

static bool read_aggregate(const KernelCall *call, Trees *t, Error *err)
{
    static const char *const names[PUT_COUNT] = {/* ORDER Aggregate */ "AVERAGE", "SUM", "MIN",
                                                 "MAX"};
    Str word = op_attr_text(kernel_graph(call), call->op, "aggregate_function", "SUM");
    t->aggregate = (Aggregate)word_among(word, names, PUT_COUNT);
    return t->aggregate < PUT_COUNT ||
           error_kind(err, ERROR_RUN, "aggregate_function %.*s is not known", STR_ARG(word));
}

static bool read_trees(const KernelCall *call, Trees *t, const char *prefix, Error *err)
{
    Intern *places = intern_new(call->scratch);
    t->reached = arena_array(call->scratch, bool, t->n_targets);
    return read_nodes(call, t, places, err) && read_leaves(call, t, prefix, places, err);
}

/* ---- the lists of TreeEnsemble ---- */

/* The numbers of an attribute that is a tensor, or a list, *n of them; NULL with *err. */
static double *numbers_named(const KernelCall *call, const char *name, int *n, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const Attr *attr = op_attr(graph, call->op, name);
    bool tensor = attr && attr->type == ATTR_TENSOR && attr->tensor;
    if (!attr || (!tensor && list_length(attr) == 0)) {
        error_kind(err, ERROR_RUN, "%s has no numbers", name);
        return NULL;
    }
    *n = tensor ? (int)shape_elements(shapes_at(graph->shapes, attr->shape)) : attr->n;
    double *out = arena_array(call->scratch, double, *n);
    for (int i = 0; !tensor && i < *n; i++)
        out[i] = number_at(attr, i);
    if (!tensor)
        return out;
    Local *whole = local_new_whole((Dtype)attr->dtype, shapes_at(graph->shapes, attr->shape));
    bool ok = data_read(attr->tensor, whole->dtype, *n, whole->data, err);
    if (ok)
        local_load(whole, 0, 1, *n, NUMBER_F64, out);
    local_free(whole);
    return ok ? out : NULL;
}

/* The branches of node i: those that are leaves are nodes behind the others. */
static bool join_branches(Trees *t, int i, const Attr *const id[2], const Attr *const leafs[2],
                          Error *err)
{
    for (int k = 0; k < 2; k++) {
        bool leaf = leafs[k]->ints[i] != 0;
        int64_t at = id[k]->ints[i], n = leaf ? t->n_leaves : t->n_nodes;
        if (at < 0 || at >= n)
            return error_kind(err, ERROR_RUN, "a branch of node %d leads to no node", i);
        t->node[i].child[k] = (int32_t)(leaf ? t->n_nodes + at : at);
    }
    return true;
}

/* Each node that asks for members takes those up to the next NaN. */
static bool take_members(const KernelCall *call, Trees *t, Error *err)
{
    int n = 0, at = 0;
    for (int i = 0; i < t->n_nodes; i++) {
        TreeNode *node = &t->node[i];
        if (node->mode != NODE_MEMBER)
            continue;
        if (!t->member && !(t->member = numbers_named(call, "membership_values", &n, err)))
            return false;
        node->member = at;
        while (at < n && !isnan(t->member[at]))
            at++;
        if (at == n)
            return error_kind(err, ERROR_RUN, "membership_values lacks those of node %d", i);
        node->n_members = at++ - node->member;
    }
    return true;
}

static bool read_branches(const KernelCall *call, Trees *t, Error *err)
{
    int n = t->n_nodes = length_of(call, "nodes_featureids"), n_modes = 0, n_splits = 0;
    const Attr *feature = list_named(call, "nodes_featureids", ATTR_INTS, n, true, err);
    const Attr *id[2] = {list_named(call, "nodes_falsenodeids", ATTR_INTS, n, true, err),
                         list_named(call, "nodes_truenodeids", ATTR_INTS, n, true, err)};
    const Attr *leafs[2] = {list_named(call, "nodes_falseleafs", ATTR_INTS, n, true, err),
                            list_named(call, "nodes_trueleafs", ATTR_INTS, n, true, err)};
    const Attr *missing =
        list_named(call, "nodes_missing_value_tracks_true", ATTR_INTS, n, false, err);
    const double *mode = numbers_named(call, "nodes_modes", &n_modes, err);
    const double *split = numbers_named(call, "nodes_splits", &n_splits, err);
    if (error_is_set(err))
        return false;
    if (n_modes != n || n_splits != n)
        return error_kind(err, ERROR_RUN, "nodes_modes or nodes_splits does not have %d elements",
                          n);
    for (int i = 0; i < n; i++) {
        if (!(mode[i] >= NODE_LEQ && mode[i] <= NODE_MEMBER))
            return error_kind(err, ERROR_RUN, "mode %g of node %d is not known", mode[i], i);
        t->node[i] = (TreeNode){.mode = (NodeMode)mode[i],
                                .missing = missing && missing->ints[i] != 0,
                                .feature = feature->ints[i],
                                .value = split[i],
                                .leaf = -1};
        if (!join_branches(t, i, id, leafs, err))
            return false;
    }
    return take_members(call, t, err);
}

static bool read_roots(const KernelCall *call, Trees *t, Error *err)
{
    int n = t->n_trees = length_of(call, "tree_roots");
    const Attr *root = list_named(call, "tree_roots", ATTR_INTS, n, true, err);
    t->root = arena_array(call->scratch, int32_t, n);
    for (int i = 0; root && i < n; i++) {
        if (root->ints[i] < 0 || root->ints[i] >= t->n_nodes)
            return error_kind(err, ERROR_RUN, "root %d is no node", i);
        t->root[i] = (int32_t)root->ints[i];
    }
    return root != NULL;
}

static bool read_ensemble(const KernelCall *call, Trees *t, Error *err)
{
    int m = t->n_leaves = length_of(call, "leaf_targetids"), n_weights = 0;
    int64_t how = op_attr_int(kernel_graph(call), call->op, "aggregate_function", PUT_SUM);
    const Attr *target = list_named(call, "leaf_targetids", ATTR_INTS, m, true, err);
    const double *weight = numbers_named(call, "leaf_weights", &n_weights, err);
    if (error_is_set(err))
        return false;
    if (how < 0 || how >= PUT_COUNT || n_weights != m)
        return error_kind(err, ERROR_RUN,
                          how < 0 || how >= PUT_COUNT ? "aggregate_function is not known"
                                                      : "leaf_weights does not fit leaf_targetids");
    t->aggregate = (Aggregate)how;
    t->leaf = arena_array(call->scratch, TreeLeaf, m);
    t->node = arena_array(call->scratch, TreeNode, length_of(call, "nodes_featureids") + m);
    t->reached = arena_array(call->scratch, bool, t->n_targets);
    if (!read_branches(call, t, err))
        return false;
    for (int i = 0; i < m; i++) {
        t->leaf[i] = (TreeLeaf){target->ints[i], weight[i], -1};
        t->node[t->n_nodes + i] = (TreeNode){.mode = NODE_LEAF, .leaf = i};
        if (!is_target(t, target->ints[i], i, err))
            return false;
    }
    return read_roots(call, t, err);
}

/* ---- rows ---- */

static bool is_member(const Trees *t, const TreeNode *node, double x)
{
    for (int i = 0; i < node->n_members; i++)
        if (!(t->member[node->member + i] < x) && !(t->member[node->member + i] > x))
            return !isnan(x);
    return false;
}

/* Whether the row goes to the true branch. */
static bool branches(const Trees *t, const TreeNode *node, double x)
{
    double at = node->value;
    const bool is[] = {/* ORDER NodeMode */
                       x <= at, x<at, x >= at, x> at, x == at, x != at};
    return (node->mode == NODE_MEMBER ? is_member(t, node, x) : is[node->mode]) ||
           (node->missing && isnan(x));
}

/* The leaf of a tree where the row ends. -1 with *err: the nodes are no tree. */
static int32_t leaf_of(const Trees *t, int tree, const double *row, Error *err)
{
    int32_t at = t->root[tree];
    for (int steps = 0; steps <= t->n_nodes && at >= 0; steps++) {
        const TreeNode *node = &t->node[at];
        if (node->mode == NODE_LEAF)
            return at;
        if (node->feature < 0 || node->feature >= t->n_columns)
            break;
        at = node->child[branches(t, node, row[node->feature])];
    }
    error_kind(err, ERROR_RUN, "the nodes of tree %d do not lead to a leaf", tree);
    return -1;
}

static void put(const Trees *t, const TreeLeaf *leaf, double *out)
{
    double *to = &out[leaf->target];
    if (!t->reached[leaf->target])
        *to = leaf->weight;
    else if (t->aggregate == PUT_MIN || t->aggregate == PUT_MAX)
        *to = t->aggregate == PUT_MIN ? fmin(*to, leaf->weight) : fmax(*to, leaf->weight);
    else
        *to += leaf->weight;
    t->reached[leaf->target] = true;
}

/* A target that no leaf has is 0. */
static bool put_row(const Trees *t, const double *row, double *out, Error *err)
{
    for (int64_t k = 0; k < t->n_targets; k++) {
        out[k] = 0;
        t->reached[k] = false;
    }
    for (int i = 0; i < t->n_trees; i++) {
        int32_t at = leaf_of(t, i, row, err);
        if (at < 0)
            return false;
        for (int32_t leaf = t->node[at].leaf; leaf >= 0; leaf = t->leaf[leaf].next)
            put(t, &t->leaf[leaf], out);
    }
    for (int64_t k = 0; k < t->n_targets; k++) {
        out[k] /= t->aggregate == PUT_AVERAGE && t->n_trees > 0 ? t->n_trees : 1;
        out[k] += t->base ? number_at(t->base, k) : 0;
    }
    return true;
}

static bool put_rows(const KernelCall *call, const Trees *t, Error *err)
{
    Local *out = call->output[0];
    double *row = arena_array(call->scratch, double, t->n_columns);
    double *sums = arena_array(call->scratch, double, t->n_targets);
    for (int64_t r = 0; r < out->shape.dim[0]; r++) {
        local_load(call->input[0], r * t->n_columns, 1, t->n_columns, NUMBER_F64, row);
        if (!put_row(t, row, sums, err))
            return false;
        local_store(out, r * t->n_targets, t->n_targets, NUMBER_F64, sums);
    }
    return true;
}

bool regress_trees(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err))
        return false;
    Trees t = {.n_columns = row_length(call->input[0]), .n_targets = call->output[0]->shape.dim[1]};
    return no_transform(call, err) && read_aggregate(call, &t, err) &&
           read_trees(call, &t, "target", err) && put_rows(call, &t, err);
}

/* Transforms of the sums are refused: ONNX and onnxruntime number them otherwise. */
bool sum_trees(const KernelCall *call, Error *err)
{
    int64_t link = op_attr_int(kernel_graph(call), call->op, "post_transform", 0);
    if (link != 0)
        return error_kind(err, ERROR_RUN, "post_transform %" PRId64 " is not computed", link);
    if (!kernel_needs(call, 1, err))
        return false;
    Trees t = {.n_columns = row_length(call->input[0]), .n_targets = call->output[0]->shape.dim[1]};
    return read_ensemble(call, &t, err) && put_rows(call, &t, err);
}

/* Whether the leaves of two classes all weigh one of them, whose score is then that of both: *one.
 * *share: no weight is negative, so that the score is a share of 1. */
static bool weighs_one(const Trees *t, int64_t *one, bool *share)
{
    *one = t->n_leaves > 0 ? t->leaf[0].target : 0;
    *share = true;
    for (int i = 0; i < t->n_leaves; i++) {
        if (t->leaf[i].target != *one)
            return false;
        *share &= t->leaf[i].weight >= 0;
    }
    return t->n_targets == 2;
}

/* As onnxruntime's kernel has it: the label, and both scores of the one that the trees give. */
static int choose_of_two(double x, bool share, ScoreLink link, double *score)
{
    bool second = share ? x > 0.5 : x > 0;
    score[0] = share && link == LINK_NONE ? 1 - x : -x;
    score[1] = x;
    if (link == LINK_LOGISTIC)
        link_scores(link, score, 2);
    return second;
}

bool classify_trees(const KernelCall *call, Error *err)
{
    const Attr *label = op_attr(kernel_graph(call), call->op, "classlabels_int64s");
    ScoreLink link;
    if (list_length(label) < 2)
        return error_kind(err, ERROR_RUN, "its labels are strings, or fewer than two");
    if (!kernel_needs(call, 1, err) || !read_link(call, &link, err))
        return false;
    const Local *in = call->input[0];
    Trees t = {.aggregate = PUT_SUM, .n_columns = row_length(in), .n_targets = list_length(label)};
    int64_t one;
    bool share;
    if (!read_trees(call, &t, "class", err))
        return false;
    bool two = weighs_one(&t, &one, &share);
    double *row = arena_array(call->scratch, double, t.n_columns);
    double *score = arena_array(call->scratch, double, t.n_targets);
    for (int64_t r = 0; r < row_count(in, t.n_columns); r++) {
        int best;
        local_load(in, r * t.n_columns, 1, t.n_columns, NUMBER_F64, row);
        if (!put_row(&t, row, score, err))
            return false;
        if (two) {
            best = choose_of_two(score[one], share, link, score);
        } else {
            best = largest(score, t.n_targets);
            link_scores(link, score, (int)t.n_targets);
        }
        store_class(call, r, number_at(label, best), score, t.n_targets);
    }
    return true;
}
