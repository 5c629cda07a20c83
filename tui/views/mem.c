#include "tui/views/mem.h"

#include "core/summary/label.h"
#include "core/summary/sheets.h"

#include <inttypes.h>
#include <stdlib.h>

/* ORDER MEMORY_CLASS */
static const char class_letters[MEMORY_CLASS_COUNT + 1] = "PGOIACB";

/* ORDER MEM_GROUPING */
static const char *const grouping_names[MEM_GROUPING_COUNT] = {"class ▸ layer ▸ tensor",
                                                               "layer ▸ tensor", "tensor"};

char mem_class_letter(MemoryClass class)
{
    return class_letters[class];
}

const char *mem_grouping_name(MemGrouping grouping)
{
    return grouping_names[grouping];
}

void mem_open(Mem *mem, Arena *arena)
{
    *mem = (Mem){.place = -1, .moment = -1, .kept = arena, .toggled = intern_new(arena)};
}

static void forget_place(Mem *mem)
{
    arena_free(mem->live_arena);
    mem->live_arena = NULL;
    mem->n_rows = 0;
}

static void forget_step(Mem *mem)
{
    arena_free(mem->step_arena);
    mem->step_arena = NULL;
    mem->step = (MemoryMoments){0};
    mem->moment = -1;
}

void mem_forget(Mem *mem)
{
    forget_place(mem);
    forget_step(mem);
    memory_account_free(mem->account);
    arena_free(mem->arena);
    mem->account = NULL;
    mem->arena = NULL;
}

bool mem_count(Mem *mem, const Session *session, Progress *progress)
{
    if (mem->arena)
        return true;
    progress_stage(progress, "following the run", 0);
    mem->account = memory_account_make(session->plan, progress);
    if (!mem->account)
        return false;
    mem->arena = arena_new();
    mem->n_places = session->inferred->n_program;
    mem->ranks = memory_ranks(mem->arena, mem->account, progress);
    if (progress_stopped(progress)) {
        mem_forget(mem);
        return false;
    }
    mem->at = mem->at < mem->ranks.n ? mem->at : 0;
    if (mem->place >= mem->n_places)
        mem->place = -1;
    return true;
}

const RankMemory *mem_ranks(const Mem *mem)
{
    return &mem->ranks.at[mem->at];
}

int mem_place(const Mem *mem)
{
    return mem->place >= 0 ? mem->place : mem_ranks(mem)->use.peak_place;
}

/* ---- what is alive, as a tree ---- */

int32_t mem_op(const Session *session, int32_t tensor)
{
    const Graph *graph = session->graph;
    const GraphTensor *at = &graph->tensors[tensor];
    if (at->maker >= 0 && !inferred_is_host(session->inferred, at->maker))
        return at->maker;
    for (int32_t u = at->use; u < at[1].use; u++)
        if (!inferred_is_host(session->inferred, graph->uses[u]))
            return graph->uses[u];
    return -1;
}

enum { LEVELS = 3 };
typedef enum { LEVEL_CLASS, LEVEL_LAYER, LEVEL_LEAF } TreeLevel;

typedef struct {
    int32_t parent; /* node, or -1 */
    TreeLevel level;
    int n_children, n;
    int64_t bytes;
    int first; /* live value */
} Node;

typedef struct {
    Arena *scratch;
    const Session *session;
    Mem *mem;
    const int32_t *first_member; /* per op */
    Intern *keys;
    Vec(Node) nodes;
    int32_t *order, *begin; /* nodes by parent (0: none), where those of each begin */
    Vec(MemRow) rows;
} Tree;

/* The member of the outermost fold around an op; its innermost group where it is in none; -1. */
static int32_t layer_member(const Session *session, int32_t op)
{
    const Groups *groups = session->groups;
    int32_t found = op < 0 ? -1 : groups->group_of[op];
    for (int32_t g = found; g >= 0; g = groups->groups[g].parent)
        if (groups->groups[groups->groups[g].fold].fold_n > 1)
            found = g;
    return found;
}

static int operand_slot(const Graph *graph, int32_t op, int32_t tensor)
{
    const GraphOp *at = &graph->ops[op];
    for (int i = 0; i < at->n_outputs; i++)
        if (op_outputs(graph, op)[i] == tensor)
            return -1 - i;
    for (int i = 0; i < at->n_inputs; i++)
        if (op_inputs(graph, op)[i] == tensor)
            return i;
    return 0;
}

static int32_t add_to_node(Tree *tree, int32_t parent, TreeLevel level, const int64_t key[4],
                           int value)
{
    int64_t whole[6] = {parent, level, key[0], key[1], key[2], key[3]};
    int32_t id = intern_put(tree->keys, whole, sizeof whole);
    if (id == tree->nodes.n) {
        Node fresh = {.parent = parent, .level = level, .first = value};
        vec_push(tree->scratch, &tree->nodes, fresh);
        if (parent >= 0)
            tree->nodes.at[parent].n_children++;
    }
    tree->nodes.at[id].n++;
    tree->nodes.at[id].bytes += tree->mem->live.at[value].bytes;
    return id;
}

enum { KEY_NUMBERS = 4 };

/* The key that distinguishes live values on each level. */
typedef struct {
    int64_t level[LEVELS][KEY_NUMBERS];
} ValueKey;

static ValueKey key_of(const Session *session, const int32_t *first_member, const LiveValue *value)
{
    int32_t op = mem_op(session, value->tensor), member = layer_member(session, op);
    int32_t layer = member < 0 ? -1 : session->groups->groups[member].fold;
    int slot = op < 0 ? value->tensor : operand_slot(session->graph, op, value->tensor);
    int64_t place = op < 0 ? -1 : first_member[op];
    return (ValueKey){{{value->class},
                       {layer},
                       {place * INT32_MAX + slot, value->sharding, value->bytes, value->class}}};
}

static void add_value(Tree *tree, int i)
{
    ValueKey key = key_of(tree->session, tree->first_member, &tree->mem->live.at[i]);
    int32_t node = -1;
    for (int level = (int)tree->mem->grouping; level < LEVELS; level++)
        node = add_to_node(tree, node, (TreeLevel)level, key.level[level], i);
}

static bool is_within(const Mem *mem, const MemRow *row, const ValueKey *key, const ValueKey *value)
{
    bool same = true;
    for (int level = (int)mem->grouping; row && level <= row->level; level++)
        same &= memcmp(key->level[level], value->level[level], sizeof key->level[level]) == 0;
    return same;
}

/* Places of values by what they are alike in, and their number in `out`. */
static int group_alike(Arena *arena, const Mem *mem, const Session *session, const MemRow *within,
                       int32_t *group)
{
    const int32_t *first = groups_first_members(arena, session->groups, session->graph->n_ops);
    ValueKey wanted = {0};
    Intern *keys = intern_new(arena);
    if (within)
        wanted = key_of(session, first, &within->value);
    for (int i = 0; i < mem->live.n; i++) {
        ValueKey key = key_of(session, first, &mem->live.at[i]);
        bool left_out = mem->live.at[i].class == MEMORY_BUFFER;
        group[i] = left_out || !is_within(mem, within, &wanted, &key)
                       ? -1
                       : intern_put(keys, key.level[LEVEL_LEAF], sizeof key.level[LEVEL_LEAF]);
    }
    return intern_count(keys);
}

static int more_bytes_first(const void *left, const void *right)
{
    const MemAlike *a = left, *b = right;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

int mem_equal_values(Arena *arena, Mem *mem, const Session *session, const MemRow *within, int most,
                     MemAlike *out)
{
    mem_list(mem, session, NULL);
    int32_t *group = arena_array(arena, int32_t, mem->live.n);
    int n = group_alike(arena, mem, session, within, group);
    MemAlike *all = arena_array(arena, MemAlike, n);
    for (int i = 0; i < mem->live.n; i++) {
        if (group[i] < 0)
            continue;
        MemAlike *alike = &all[group[i]];
        if (alike->n++ == 0)
            alike->tensor = arena_array(arena, int32_t, mem->live.n - i);
        alike->tensor[alike->n - 1] = mem->live.at[i].tensor;
        alike->bytes += mem->live.at[i].bytes;
    }
    if (n > 0)
        qsort(all, (size_t)n, sizeof *all, more_bytes_first);
    n = n < most ? n : most;
    memcpy(out, all, (size_t)n * sizeof *out);
    return n;
}

/* A node's place among its siblings. */
typedef struct {
    int32_t parent, id;
    int64_t bytes;
    int first;
} Sibling;

static int larger_first(const void *left, const void *right)
{
    const Sibling *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static void sort_nodes(Tree *tree)
{
    int n = tree->nodes.n;
    Sibling *all = arena_array(tree->scratch, Sibling, n);
    for (int i = 0; i < n; i++) {
        const Node *node = &tree->nodes.at[i];
        all[i] = (Sibling){node->parent, i, node->bytes, node->first};
    }
    if (n > 0)
        qsort(all, (size_t)n, sizeof *all, larger_first);
    tree->order = arena_array(tree->scratch, int32_t, n);
    tree->begin = arena_array(tree->scratch, int32_t, n + 2);
    for (int i = 0; i < n; i++) {
        tree->order[i] = all[i].id;
        tree->begin[all[i].parent + 2]++;
    }
    for (int i = 1; i < n + 2; i++)
        tree->begin[i] += tree->begin[i - 1];
}

static bool is_layer_of_many(const Tree *tree, int32_t member)
{
    const Group *all = tree->session->groups->groups;
    return member >= 0 && all[all[member].fold].fold_n > 1;
}

static void put_layer(const Tree *tree, int32_t member, Buf *out)
{
    const Groups *groups = tree->session->groups;
    if (member <= 0) {
        buf_puts(out, "the rest");
        return;
    }
    if (!is_layer_of_many(tree, member)) {
        buf_puts(out, groups->groups[member].path);
        return;
    }
    int32_t head = groups->groups[member].fold;
    group_format_fold(groups, head, groups->groups[head].fold_n, 0, out);
}

/* "transformer.h[0..11].mlp.c_fc.weight"; inside its layer "mlp.c_fc.weight". */
static void put_value(const Tree *tree, const Node *node, bool inside, Buf *out)
{
    int32_t tensor = tree->mem->live.at[node->first].tensor;
    int32_t member = layer_member(tree->session, mem_op(tree->session, tensor));
    Str name = label_tensor(tree->session, out->arena, tensor);
    const char *text = arena_str(out->arena, name);
    if (!is_layer_of_many(tree, member) || (!inside && node->n == 1)) {
        buf_puts(out, text);
        return;
    }
    Str relative = group_relative(text, group_prefix(tree->session->groups, member));
    bool is_below = relative.n < name.n;
    if (!inside && is_below) {
        put_layer(tree, member, out);
        buf_putc(out, '.');
    }
    buf_add(out, relative);
}

static const char *node_label(const Tree *tree, const Node *node, bool inside)
{
    Buf text = buf_new(tree->mem->live_arena);
    const LiveValue *value = &tree->mem->live.at[node->first];
    if (node->level == LEVEL_CLASS)
        buf_puts(&text, memory_class_name(value->class));
    else if (node->level == LEVEL_LAYER)
        put_layer(tree, layer_member(tree->session, mem_op(tree->session, value->tensor)), &text);
    else
        put_value(tree, node, inside, &text);
    return text.n > 0 ? text.s : "";
}

/* Classes that matter stand open at first. */
static bool is_open(const Tree *tree, const Node *node, const char *path)
{
    const Mem *mem = tree->mem;
    int32_t id = intern_find(mem->toggled, path, strlen(path));
    bool open = node->level == LEVEL_CLASS && node->bytes >= mem->live.bytes / 10;
    return open != (id >= 0 && mem->is_toggled.at[id]);
}

/* A layer with one row is that row. */
static const Node *only_child(const Tree *tree, int32_t id)
{
    const Node *node = &tree->nodes.at[id];
    return node->level == LEVEL_LAYER && node->n_children == 1
               ? &tree->nodes.at[tree->order[tree->begin[id + 1]]]
               : NULL;
}

static void put_rows(Tree *tree, int32_t parent, int depth, int32_t row, const char *path)
{
    Arena *arena = tree->mem->live_arena;
    for (int32_t i = tree->begin[parent + 1]; i < tree->begin[parent + 2]; i++) {
        int32_t id = tree->order[i];
        const Node *only = only_child(tree, id), *node = only ? only : &tree->nodes.at[id];
        bool inside = row >= 0 && depth > 0 && tree->nodes.at[parent].level == LEVEL_LAYER;
        MemRow out = {.depth = depth, .parent = row, .bytes = node->bytes, .n = node->n};
        out.level = (int)node->level;
        out.leaf = node->level == LEVEL_LEAF;
        out.label = node_label(tree, node, inside);
        out.path = arena_printf(arena, "%s\n%s", path, out.label);
        out.value = tree->mem->live.at[node->first];
        out.open = !out.leaf && is_open(tree, node, out.path);
        vec_push(arena, &tree->rows, out);
        if (out.open)
            put_rows(tree, id, depth + 1, tree->rows.n - 1, out.path);
    }
}

bool mem_list(Mem *mem, const Session *session, Progress *progress)
{
    if (!mem_count(mem, session, progress))
        return false;
    if (mem->live_arena)
        return true;
    if (!mem->step_arena) {
        mem->step_arena = arena_new();
        mem->step = memory_moments(mem->step_arena, mem->account, mem_ranks(mem)->rank);
        mem->saved = saved_by_layer(mem->step_arena, session, mem->account, mem_ranks(mem)->rank);
    }
    mem->live_arena = arena_new();
    mem->live = memory_live_of(mem->live_arena, mem->account, mem_ranks(mem)->rank, mem_place(mem));
    Arena *scratch = arena_new();
    Tree tree = {.scratch = scratch, .session = session, .mem = mem};
    tree.keys = intern_new(scratch);
    tree.first_member = groups_first_members(scratch, session->groups, session->graph->n_ops);
    for (int i = 0; i < mem->live.n && !progress_stopped(progress); i++)
        add_value(&tree, i);
    if (progress_stopped(progress)) {
        arena_free(scratch);
        forget_place(mem);
        return false;
    }
    sort_nodes(&tree);
    put_rows(&tree, -1, 0, -1, "");
    mem->n_rows = tree.rows.n;
    mem->row = tree.rows.at;
    arena_free(scratch);
    return true;
}

/* ---- changing what is shown ---- */

void mem_select(Mem *mem, int at)
{
    forget_place(mem);
    forget_step(mem);
    mem->at = at;
}

void mem_move_time(Mem *mem, int by)
{
    int n = mem->n_places, place = mem_place(mem) + by;
    forget_place(mem);
    mem->place = place < 0 ? 0 : place >= n ? n - 1 : place;
    if (n == 0 || mem->place == mem_ranks(mem)->use.peak_place)
        mem->place = -1;
}

const MemoryMoment *mem_moment(const Mem *mem)
{
    int at = mem->moment >= 0 ? mem->moment : mem->step.peak;
    return mem->step.n > 0 && at >= 0 ? &mem->step.at[at] : NULL;
}

void mem_move_moment(Mem *mem, double us)
{
    const MemoryMoment *from = mem_moment(mem);
    if (!from)
        return;
    int at = (int)(from - mem->step.at), by = us < 0 ? -1 : 1, found = at;
    double wanted = from->from_us + us;
    for (int i = at + by; 0 <= i && i < mem->step.n; i += by) {
        const MemoryMoment *moment = &mem->step.at[i];
        if (moment->place < 0)
            continue;
        found = i;
        if (by < 0 ? moment->from_us <= wanted : moment->from_us >= wanted)
            break;
    }
    forget_place(mem);
    mem->moment = found == mem->step.peak ? -1 : found;
    mem->place = mem->moment < 0 ? -1 : mem->step.at[found].place;
}

void mem_set_grouping(Mem *mem, MemGrouping grouping)
{
    forget_place(mem);
    mem->grouping = grouping;
}

void mem_toggle(Mem *mem, int row)
{
    const char *path = mem->row[row].path;
    int32_t id = intern_put(mem->toggled, path, strlen(path));
    if (id == mem->is_toggled.n)
        vec_push(mem->kept, &mem->is_toggled, false);
    mem->is_toggled.at[id] = !mem->is_toggled.at[id];
    forget_place(mem);
}

/* ---- as text and columns ---- */

void mem_split(const int64_t *by_class, int64_t whole, int columns, int *out)
{
    int64_t sum = 0;
    int done = 0;
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++) {
        sum += by_class[c];
        int end = whole > 0 ? (int)((double)sum / (double)whole * columns + 0.5) : 0;
        end = end > columns ? columns : end;
        out[c] = end - done;
        done = end;
    }
}

void mem_format_devices(const Mem *mem, int at, int64_t n_devices, int most, Buf *out)
{
    sheet_format_ranks(&mem->ranks, at, n_devices, most, out);
    if (mem->ranks.at[at].n_ranks > 1)
        buf_printf(out, " ×%" PRId64, mem->ranks.at[at].n_ranks);
}

/* Which coordinates of an axis the devices of a group have: how many, and the ends. */
typedef struct {
    int64_t n, first, last;
} AxisSpread;

static AxisSpread axis_spread(const Mem *mem, int at, const Mesh *mesh, int axis)
{
    AxisSpread spread = {0, mesh->axes[axis].size, -1};
    Arena *scratch = arena_new();
    bool *seen = arena_array(scratch, bool, mesh->axes[axis].size);
    for (int64_t rank = 0; rank < mesh->n_devices; rank++) {
        int64_t coord = mesh_coord(mesh, axis, rank);
        if (mem->ranks.of_rank[rank] != at || seen[coord])
            continue;
        seen[coord] = true;
        spread.n++;
        spread.first = coord < spread.first ? coord : spread.first;
        spread.last = coord > spread.last ? coord : spread.last;
    }
    arena_free(scratch);
    return spread;
}

void mem_format_box(const Mem *mem, int at, const Mesh *mesh, Buf *out)
{
    AxisSpread spread[MESH_AXES_MAX];
    int64_t n = 1;
    for (int a = 0; a < mesh->n_axes; a++) {
        spread[a] = axis_spread(mem, at, mesh, a);
        n *= spread[a].n;
        if (spread[a].last - spread[a].first + 1 != spread[a].n)
            return;
    }
    if (n != mem->ranks.at[at].n_ranks)
        return;
    for (int a = 0; a < mesh->n_axes; a++) {
        if (spread[a].n == mesh->axes[a].size)
            continue;
        buf_puts(out, out->n ? ", " : "");
        mesh_put_axis(mesh, a, out);
        buf_printf(out, " %" PRId64, spread[a].first);
        if (spread[a].n > 1)
            buf_printf(out, "..%" PRId64, spread[a].last);
    }
}

int64_t mem_column(const MemoryUse *use, int n_places, int column, int of)
{
    int64_t most = 0;
    int first = (int)((int64_t)n_places * column / of);
    int end = (int)((int64_t)n_places * (column + 1) / of);
    for (int i = first; i < end || i == first; i++)
        most = i < n_places && use->live_bytes[i] > most ? use->live_bytes[i] : most;
    return most;
}
