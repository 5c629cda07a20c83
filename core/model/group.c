#include "core/model/group.h"

#include "core/model/group_tree.h"

#include <assert.h>

/* A group before it gets its number: all pieces of one path share a node. */
typedef struct {
    int32_t node, parent;
    int32_t start;       /* its row stands before those of its parent that start later */
    int32_t first;       /* the shown op that opened it */
    int32_t child, next; /* pieces, in order */
    int32_t op;          /* the first op right inside it, as a place in `ops` */
} GroupPiece;

typedef struct {
    Arena *scratch;
    const GroupTree *tree;
    Vec(GroupPiece) pieces;
    int32_t *inner; /* per k: its innermost piece */
    int32_t *ops;   /* all k by innermost piece */
} OutlineMaker;

/* ---- pieces ---- */

/* One level of the outline: what each shown op is in, and the row it is on there. */
typedef struct {
    int32_t *piece; /* -1: placed on an upper level */
    int32_t *row;   /* rows are numbered through the level */
    int32_t *below; /* the piece on the level below, -1 when it is right in `piece` */
    int32_t n_rows;
} OutlineLevel;

/* Whether op k may be in row `row` of its piece: what it reads there must not come later. */
static bool may_join(const OutlineMaker *outline, const OutlineLevel *level, int32_t k, int32_t row)
{
    const Graph *graph = outline->tree->graph;
    int32_t op = outline->tree->shown[k];
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        int32_t maker = tensor < 0 ? -1 : graph->tensors[tensor].maker;
        int32_t from = maker < 0 ? -1 : outline->tree->place[maker];
        if (from >= 0 && level->piece[from] == level->piece[k] && level->row[from] > row)
            return false;
    }
    return true;
}

/* Splits every piece of one depth into rows: the ops directly in it, and the pieces one level
 * deeper. Each op joins the latest piece of its group if the order of data allows that, else it
 * opens a new one. Returns true when there is a level below. */
static bool split_level(OutlineMaker *outline, OutlineLevel *level, int32_t depth, int32_t *latest)
{
    bool deeper = false;
    level->n_rows = 0;
    for (int32_t k = 0; k < outline->tree->n_shown; k++) {
        level->below[k] = -1;
        if (level->piece[k] < 0)
            continue;
        if (outline->tree->nodes.at[outline->tree->node[k]].depth == depth) {
            outline->inner[k] = level->piece[k];
            level->row[k] = level->n_rows++;
            continue;
        }
        deeper = true;
        int32_t node = node_at_depth(outline->tree, outline->tree->node[k], depth + 1);
        int32_t piece = latest[node];
        if (piece < 0 || outline->pieces.at[piece].parent != level->piece[k] ||
            !may_join(outline, level, k, outline->pieces.at[piece].start)) {
            piece = latest[node] = outline->pieces.n;
            vec_push(outline->scratch, &outline->pieces,
                     (GroupPiece){.node = node,
                                  .parent = level->piece[k],
                                  .start = level->n_rows++,
                                  .first = k,
                                  .child = -1,
                                  .next = -1});
        }
        level->below[k] = piece;
        level->row[k] = outline->pieces.at[piece].start;
    }
    return deeper;
}

static void find_pieces(OutlineMaker *outline)
{
    Arena *scratch = outline->scratch;
    int32_t n = outline->tree->n_shown;
    int32_t *latest = arena_array(scratch, int32_t, outline->tree->nodes.n);
    memset(latest, -1, (size_t)outline->tree->nodes.n * sizeof *latest);
    OutlineLevel level = {.piece = arena_array(scratch, int32_t, n),
                          .row = arena_array(scratch, int32_t, n),
                          .below = arena_array(scratch, int32_t, n)};
    vec_push(scratch, &outline->pieces, (GroupPiece){.parent = -1, .child = -1, .next = -1});
    for (int32_t depth = 0; split_level(outline, &level, depth, latest); depth++) {
        int32_t *upper = level.piece;
        level.piece = level.below;
        level.below = upper;
    }
}

/* Lists what is directly in each piece: pieces as a chain, ops as a run of `ops`. */
static void list_rows(OutlineMaker *outline)
{
    for (int32_t p = outline->pieces.n - 1; p > 0; p--) {
        GroupPiece *parent = &outline->pieces.at[outline->pieces.at[p].parent];
        outline->pieces.at[p].next = parent->child;
        parent->child = p;
    }
    for (int32_t k = 0; k < outline->tree->n_shown; k++)
        outline->pieces.at[outline->inner[k]].op++;
    int32_t end = 0;
    for (int32_t p = 0; p < outline->pieces.n; p++) {
        end += outline->pieces.at[p].op;
        outline->pieces.at[p].op = end;
    }
    for (int32_t k = outline->tree->n_shown - 1; k >= 0; k--)
        outline->ops[--outline->pieces.at[outline->inner[k]].op] = k;
}

/* ---- groups ---- */

static int32_t add_group(Arena *arena, Groups *groups, const OutlineMaker *outline,
                         const GroupPiece *piece, int32_t parent)
{
    int32_t id = groups->n_groups++;
    const Node *node = &outline->tree->nodes.at[piece->node];
    Str text = names_str(outline->tree->paths, piece->node);
    const Names *names = outline->tree->graph->names;
    int32_t known = names_find(names, text); /* most paths are those of ops */
    const char *path = known >= 0 ? names_text(names, known) : arena_str(arena, text);
    groups->groups[id] = (Group){.parent = parent,
                                 .first = groups->n_order,
                                 .child = -1,
                                 .next = -1,
                                 .fold = id,
                                 .fold_n = 1,
                                 .alike = id,
                                 .alike_n = 1,
                                 .depth = (int16_t)node->depth,
                                 .name = path + node->name,
                                 .path = path};
    return id;
}

/* Numbers the piece and all inside it in outline order. Recursion ends at GROUP_DEPTH_MAX. */
static int32_t place_piece(Arena *arena, Groups *groups, const OutlineMaker *outline, int32_t p,
                           int32_t parent)
{
    const GroupPiece *piece = &outline->pieces.at[p];
    int32_t id = add_group(arena, groups, outline, piece, parent);
    int32_t *link = &groups->groups[id].child;
    int32_t end = p + 1 < outline->pieces.n ? piece[1].op : outline->tree->n_shown;
    int32_t child = piece->child;
    for (int32_t i = piece->op; i < end || child >= 0;) {
        if (child < 0 || (i < end && outline->ops[i] < outline->pieces.at[child].first)) {
            int32_t op = outline->tree->shown[outline->ops[i++]];
            groups->order[groups->n_order++] = op;
            groups->group_of[op] = id;
            continue;
        }
        *link = place_piece(arena, groups, outline, child, id);
        link = &groups->groups[*link].next;
        child = outline->pieces.at[child].next;
    }
    groups->groups[id].n = groups->n_order - groups->groups[id].first;
    return id;
}

/* ---- folds ---- */

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
            strcmp(at[a + i].name, at[b + i].name) != 0)
            return false;
    }
}

static bool groups_match(const Folding *folding, const int32_t *key, int32_t a, int32_t b)
{
    const Group *group_a = &folding->groups->groups[a], *group_b = &folding->groups->groups[b];
    if (group_a->n != group_b->n || !group_names_alike(group_a->name, group_b->name) ||
        !insides_match(folding, a, b))
        return false;
    for (int32_t i = 0; i < group_a->n; i++)
        if (!ops_match(folding, key, group_a, group_b, i))
            return false;
    return true;
}

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

static void find_folds(OutlineMaker *outline, Groups *groups)
{
    const Graph *graph = outline->tree->graph;
    Folding folding = {.graph = graph,
                       .signature = groups->signature,
                       .structure = outline->tree->structure,
                       .groups = groups};
    folding.place = outline->tree->place;
    for (int32_t i = 0; i < groups->n_order; i++)
        folding.place[groups->order[i]] = i;
    folding.slot = arena_array(outline->scratch, uint16_t, graph->n_tensors);
    for (int32_t op = 0; op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_outputs; i++)
            if (op_outputs(graph, op)[i] >= 0)
                folding.slot[op_outputs(graph, op)[i]] = (uint16_t)i;
    for (int32_t group = 0; group < groups->n_groups; group++)
        fold_children(&folding, group);
}

/* ---- all of it ---- */

Groups *groups_build(Arena *arena, const Graph *graph, const int32_t *shown, int n_shown,
                     const int32_t *signature, const int32_t *structure)
{
    Arena *scratch = arena_new();
    const GroupTree *tree = group_tree_new(scratch, graph, shown, n_shown, structure);
    OutlineMaker outline = {.scratch = scratch,
                            .tree = tree,
                            .inner = arena_array(scratch, int32_t, n_shown),
                            .ops = arena_array(scratch, int32_t, n_shown)};
    find_pieces(&outline);
    list_rows(&outline);

    Groups *groups = arena_make(arena, Groups);
    groups->groups = arena_array(arena, Group, outline.pieces.n);
    groups->order = arena_array(arena, int32_t, n_shown);
    groups->signature = signature;
    groups->group_of = arena_array(arena, int32_t, graph->n_ops);
    memset(groups->group_of, -1, (size_t)graph->n_ops * sizeof *groups->group_of);
    place_piece(arena, groups, &outline, 0, -1);
    assert(groups->n_groups == outline.pieces.n && groups->n_order == n_shown);
    find_folds(&outline, groups);
    arena_free(scratch);
    return groups;
}

bool groups_have_fold(const Groups *groups, int32_t group)
{
    for (int32_t c = groups->groups[group].child; c >= 0; c = groups->groups[c].next)
        if (groups->groups[c].fold_n > 1 || groups_have_fold(groups, c))
            return true;
    return false;
}

int32_t *groups_first_members(Arena *arena, const Groups *groups, int n_ops)
{
    int32_t *shift = arena_array(arena, int32_t, groups->n_groups);
    int32_t *first = arena_array(arena, int32_t, n_ops);
    for (int g = 0; g < groups->n_groups; g++) {
        const Group *group = &groups->groups[g];
        int32_t above = group->parent < 0 ? 0 : shift[group->parent];
        shift[g] = above + groups->groups[group->fold].first - group->first;
    }
    for (int32_t op = 0; op < n_ops; op++)
        first[op] = op;
    for (int i = 0; i < groups->n_order; i++) {
        int32_t op = groups->order[i];
        first[op] = groups->order[i + shift[groups->group_of[op]]];
    }
    return first;
}

int32_t groups_difference(const Groups *groups, int32_t a, int32_t b)
{
    const int32_t *op_a = groups->order + groups->groups[a].first,
                  *op_b = groups->order + groups->groups[b].first;
    for (int32_t i = 0; i < groups->groups[a].n; i++)
        if (groups->signature[op_a[i]] != groups->signature[op_b[i]])
            return i;
    return -1;
}
