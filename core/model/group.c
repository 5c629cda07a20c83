#include "core/model/group.h"

#include "core/model/group_fold.h"
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
    const char **kind; /* per Names id of a path; NULL: the model gives no kinds */
    int32_t *inner;    /* per k: its innermost piece */
    int32_t *ops;      /* all k by innermost piece */
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

static const char **kinds_of_paths(Arena *scratch, const Graph *graph)
{
    if (graph->n_kinds == 0)
        return NULL;
    const char **kind = arena_array(scratch, const char *, graph->n_names);
    for (int i = 0; i < graph->n_kinds; i++)
        kind[graph->kinds[i].path] = graph->kinds[i].kind;
    return kind;
}

static int32_t add_group(Arena *arena, Groups *groups, const OutlineMaker *outline,
                         const GroupPiece *piece, int32_t parent)
{
    int32_t id = groups->n_groups++;
    const GroupNode *node = &outline->tree->nodes.at[piece->node];
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
                                 .path = path,
                                 .kind = outline->kind && known >= 0 ? outline->kind[known] : NULL};
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
    outline.kind = kinds_of_paths(scratch, graph);
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
    groups_find_folds(arena, tree, groups);
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
