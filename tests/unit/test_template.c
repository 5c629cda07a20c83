/* Templates: the shipped ones against the built-in operators they describe, cell by cell; any op
 * space printed as a template and read again. */
#include "tests/unit/template_call.h"

#include "core/peers/tapestry/eval_template.h"
#include "scripts/peers/tapestry.h"

#include <stdlib.h>

/* ---- two ways to say one op ---- */

typedef struct {
    const char *name;
    Call template, built_in;
    int order[4]; /* operand i of the template is operand order[i] - 1 of the other; 0: i */
    bool finer;   /* it moves elements, and says of each which; the other reads the dim whole */
} Pair;

static Pair pairs[] = {
    {"add", {"tapestry::add", "2x3,3", NULL, 0}, {"Add", "2x3,3", NULL, 0}, {0}, false},
    {"add ones",
     {"tapestry::add", "4x1x3,5x1", NULL, 0},
     {"Add", "4x1x3,5x1", NULL, 0},
     {0},
     false},
    {"add three",
     {"tapestry::add", "2x3,1x3,2x1", NULL, 0},
     {"Sum", "2x3,1x3,2x1", NULL, 0},
     {0},
     false},
    {"matmul_thread",
     {"tapestry::matmul_thread", "2x3x4,2x4x5", NULL, 0},
     {"MatMul", "2x3x4,2x4x5", NULL, 0},
     {0},
     false},
    {"matmul",
     {"tapestry::matmul", "3x4,4x5", NULL, 0},
     {"MatMul", "3x4,4x5", NULL, 0},
     {0},
     false},
    {"linear",
     {"tapestry::linear", "3x4,4x5,5", NULL, 0},
     {"Gemm", "3x4,4x5,5", NULL, 0},
     {0},
     false},
    {"linear, no bias",
     {"tapestry::linear", "2x3x4,4x5", NULL, 0},
     {"MatMul", "2x3x4,4x5", NULL, 0},
     {0},
     false},
    {"bmm",
     {"tapestry::bmm", "2x1x3x4,3x4x2", NULL, 0},
     {"MatMul", "2x1x3x4,3x4x2", NULL, 0},
     {0},
     false},
    {"sum",
     {"tapestry::sum", "3x4x5", "axis=1", 0},
     {"ReduceSum", "3x4x5,=[1]", "keepdims=0", 0},
     {0},
     false},
    {"sum_thread",
     {"tapestry::sum_thread", "3x4x5", "axis=-1", 0},
     {"ReduceSum", "3x4x5,=[2]", "keepdims=0", 0},
     {0},
     false},
    {"sum_insertrow",
     {"tapestry::sum_insertrow", "3x4x5", "axis=0", 0},
     {"ReduceSum", "3x4x5,=[0]", "keepdims=0", 0},
     {0},
     false},
    {"softmax",
     {"tapestry::softmax", "3x4x5", "axis=1", 0},
     {"Softmax", "3x4x5", "axis=1", 0},
     {0},
     false},
    {"concat",
     {"tapestry::concat", "2x3,2x1,2x4", "axis=1", 0},
     {"Concat", "2x3,2x1,2x4", "axis=1", 0},
     {0},
     true},
    {"split",
     {"tapestry::split", "2x6", "axis=1 chunk_size=2", 3},
     {"Split", "2x6", "axis=1 num_outputs=3", 3},
     {0},
     true},
    {"split, uneven",
     {"tapestry::split", "7x2", "axis=0 chunk_size=3", 3},
     {"Split", "7x2,=[3,3,1]", "axis=0", 3},
     {0},
     true},
    {"transpose",
     {"tapestry::transpose", "2x3x5", "perm=[1,2,0]", 0},
     {"Transpose", "2x3x5", "perm=[1,2,0]", 0},
     {0},
     false},
    {"conv2d",
     {"tapestry::conv2d", "2x2x5x4,3x2x3x2", NULL, 0},
     {"Conv", "2x2x5x4,3x2x3x2", NULL, 0},
     {0},
     false},
    {"conv2d, padded",
     {"tapestry::conv2d", "1x2x7x7,2x2x3x3", "stride=2 pad=1", 0},
     {"Conv", "1x2x7x7,2x2x3x3", "strides=[2,2] pads=[1,1,1,1]", 0},
     {0},
     false},
    {"conv2d, dilated",
     {"tapestry::conv2d", "1x1x7x7,1x1x3x3", "dil=2", 0},
     {"Conv", "1x1x7x7,1x1x3x3", "dilations=[2,2]", 0},
     {0},
     false},
    {"max_pool",
     {"tapestry::max_pool", "1x2x6x6", "k=3 stride=2 pad=1", 0},
     {"MaxPool", "1x2x6x6", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", 0},
     {0},
     false},
    {"layer_norm",
     {"tapestry::layer_norm", "2x3x4,4,4", "axis=2", 1},
     {"LayerNormalization", "2x3x4,4,4", "axis=2", 0},
     {0},
     false},
    {"gather",
     {"tapestry::gather", "2x3:i64,5x4", NULL, 0},
     {"Gather", "5x4,2x3:i64", NULL, 0},
     {2, 1},
     false},
    {"embedding",
     {"tapestry::embedding", "2x3:i64,5x4", NULL, 0},
     {"Gather", "5x4,2x3:i64", NULL, 0},
     {2, 1},
     false},
    {"attention",
     {"tapestry::attention", "2x4x3x5,2x2x3x5,2x2x3x2", NULL, 0},
     {"Einsum", "2x2x2x3x5,2x2x3x5,2x2x3x2", "equation=bgrqd,bgkd,bgkv->bgrqv", 0},
     {0},
     false},
};

/* ---- which cells of the inputs a cell of an output is made of ---- */

enum { CELLS_MAX = 1024 };

typedef struct {
    int64_t n_cells[8]; /* per operand */
    bool *reads;        /* [output cell][input cell], of one output and one input */
} Reads;

/* Frozen dims are never cut: they belong to the windows, unless all points are looked at. */
static OpSpace *without_frozen(Arena *arena, const OpSpace *from, bool keep)
{
    int n = from->n_inputs + from->n_outputs;
    OpSpace *space = opspace_new(arena, from->n_inputs, from->n_outputs);
    Operand *operand = space->operand;
    *space = *from;
    space->operand = operand;
    for (int i = 0; i < n; i++)
        operand[i] = from->operand[i];
    for (int j = 0; j < space->n_index; j++) {
        if (space->index[j].role != ROLE_FROZEN || keep)
            continue;
        for (int i = 0; i < n; i++)
            projection_absorb(&operand[i].projection, j, space->index[j].size);
        space->index[j].size = 1;
    }
    return space;
}

static Box whole_index(const OpSpace *space)
{
    Box box = {.n = space->n_index};
    for (int j = 0; j < box.n; j++)
        box.hi[j] = space->index[j].size;
    return box;
}

static bool box_is_empty(const Box *box)
{
    for (int d = 0; d < box->n; d++)
        if (box->lo[d] >= box->hi[d])
            return true;
    return false;
}

/* The next point of a box that is not empty; false after the last. */
static bool step(const Box *box, int64_t *at)
{
    for (int d = box->n - 1; d >= 0; d--) {
        if (++at[d] < box->hi[d])
            return true;
        at[d] = box->lo[d];
    }
    return false;
}

static int64_t cell_of(const Shape *shape, const int64_t *at)
{
    int64_t cell = 0;
    for (int d = 0; d < shape->n_dims; d++)
        cell = cell * shape->dim[d] + at[d];
    return cell;
}

/* Marks the cells of the window at an index point. */
static void mark_cells(const Operand *operand, const Box *point, bool *cells)
{
    Box range;
    projection_range(&operand->projection, &operand->shape, point, &range);
    if (box_is_empty(&range))
        return;
    int64_t at[X_MAX];
    memcpy(at, range.lo, sizeof at);
    do
        cells[cell_of(&operand->shape, at)] = true;
    while (step(&range, at));
}

static Box point_box(const Box *box, const int64_t *at)
{
    Box point = {.n = box->n};
    for (int j = 0; j < box->n; j++) {
        point.lo[j] = at[j];
        point.hi[j] = at[j] + 1;
    }
    return point;
}

/* reads[o * n_in + i]: output cell o is made of input cell i, over the points of the index box. */
static bool *reads_of(Arena *arena, const OpSpace *space, int input, int output, const Box *index)
{
    const Operand *in = &space->operand[input], *out = opspace_output(space, output);
    int64_t n_in = shape_elements(&in->shape), n_out = shape_elements(&out->shape);
    assert_true(n_in <= CELLS_MAX && n_out <= CELLS_MAX);
    bool *reads = arena_array(arena, bool, n_in *n_out);
    int64_t at[X_MAX];
    if (box_is_empty(index))
        return reads;
    memcpy(at, index->lo, sizeof at);
    do {
        bool from[CELLS_MAX] = {false}, to[CELLS_MAX] = {false};
        Box point = point_box(index, at);
        mark_cells(in, &point, from);
        mark_cells(out, &point, to);
        for (int64_t o = 0; o < n_out; o++)
            for (int64_t i = 0; to[o] && i < n_in; i++)
                reads[o * n_in + i] |= from[i];
    } while (step(index, at));
    return reads;
}

/* ---- the shipped templates ---- */

static int other_operand(const Pair *pair, int i)
{
    return pair->order[i] > 0 ? pair->order[i] - 1 : i;
}

static void same_cells(const Pair *pair, Arena *arena, const OpSpace *ours, const OpSpace *theirs)
{
    Box our_index = whole_index(ours), their_index = whole_index(theirs);
    for (int o = 0; o < ours->n_outputs; o++)
        for (int i = 0; i < ours->n_inputs; i++) {
            int k = other_operand(pair, i);
            assert_true(k < theirs->n_inputs);
            int64_t n_in = shape_elements(&ours->operand[i].shape);
            int64_t n_out = shape_elements(&opspace_output(ours, o)->shape);
            assert_int_equal(n_in, shape_elements(&theirs->operand[k].shape));
            assert_int_equal(n_out, shape_elements(&opspace_output(theirs, o)->shape));
            const bool *our_reads = reads_of(arena, ours, i, o, &our_index);
            const bool *their_reads = reads_of(arena, theirs, k, o, &their_index);
            for (int64_t c = 0; c < n_in * n_out; c++)
                assert_true(pair->finer ? !our_reads[c] || their_reads[c]
                                        : our_reads[c] == their_reads[c]);
        }
}

/* All cells of the inputs go to the outputs, each to one, and between two tensors in order. */
static void moves_each_cell_once(Arena *arena, const OpSpace *space)
{
    Box index = whole_index(space);
    int64_t n_moved = 0, n_cells = 0;
    for (int o = 0; o < space->n_outputs; o++)
        n_cells += shape_elements(&opspace_output(space, o)->shape);
    for (int o = 0; o < space->n_outputs; o++)
        for (int i = 0; i < space->n_inputs; i++) {
            const bool *reads = reads_of(arena, space, i, o, &index);
            int64_t n_in = shape_elements(&space->operand[i].shape), last = -1;
            int64_t n_out = shape_elements(&opspace_output(space, o)->shape);
            for (int64_t c = 0; c < n_in * n_out; c++) {
                if (!reads[c])
                    continue;
                assert_true(c % n_in > last);
                last = c % n_in;
                n_moved++;
            }
        }
    assert_int_equal(n_moved, n_cells);
}

/* A box of the index dims: all of those that are reduced. */
static Box random_shard(const OpSpace *space, unsigned *seed)
{
    Box box = whole_index(space);
    for (int j = 0; j < box.n; j++) {
        if (space->index[j].role != ROLE_MAP || rand_r(seed) % 2 == 0)
            continue;
        box.lo[j] = rand_r(seed) % space->index[j].size;
        box.hi[j] = box.lo[j] + 1 + rand_r(seed) % (space->index[j].size - box.lo[j]);
    }
    return box;
}

static bool is_legal(const OpSpace *space, const Box *shard)
{
    int64_t extent[X_MAX];
    for (int j = 0; j < space->n_index; j++)
        extent[j] = shard->hi[j] - shard->lo[j];
    for (int o = 0; o < space->n_outputs; o++)
        if (!projection_exact(&opspace_output(space, o)->projection, extent, space->n_index))
            return false;
    return true;
}

/* The least box of the input that has all cells which the cells of an output's range are made of.
 */
static bool bounds_of(const OpSpace *space, int input, int output, const bool *reads,
                      const Box *range, Box *out)
{
    const Shape *in = &space->operand[input].shape, *shape = &opspace_output(space, output)->shape;
    int64_t n_in = shape_elements(in), at[X_MAX];
    bool any = false;
    Box whole = {.n = (int)in->n_dims};
    memcpy(whole.hi, in->dim, sizeof in->dim);
    if (box_is_empty(range))
        return false;
    memcpy(at, range->lo, sizeof at);
    do {
        const bool *row = reads + cell_of(shape, at) * n_in;
        int64_t cell[X_MAX] = {0};
        for (int64_t i = 0; i < n_in; i++, step(&whole, cell))
            for (int d = 0; row[i] && d < whole.n; d++) {
                out->lo[d] = any && out->lo[d] < cell[d] ? out->lo[d] : cell[d];
                out->hi[d] = any && out->hi[d] > cell[d] + 1 ? out->hi[d] : cell[d] + 1;
                any = any || d == whole.n - 1;
            }
    } while (step(range, at));
    out->n = whole.n;
    return any;
}

/* What a shard's range of an input is, and what the built-in operator says the shard's cells need.
 * Of one output: parts of a split are made of different cells. */
static void same_ranges(const Pair *pair, Arena *arena, const OpSpace *ours, const OpSpace *theirs,
                        const Box *shard)
{
    Box all = whole_index(theirs);
    for (int i = 0; ours->n_outputs == 1 && i < ours->n_inputs; i++) {
        const Operand *input = &ours->operand[i], *output = opspace_output(ours, 0);
        int k = other_operand(pair, i);
        Box reads, writes, needs = {0};
        projection_range(&input->projection, &input->shape, shard, &reads);
        projection_range(&output->projection, &output->shape, shard, &writes);
        bool *of_cells = reads_of(arena, theirs, k, 0, &all);
        bool any = bounds_of(ours, i, 0, of_cells, &writes, &needs);
        if (!any || box_is_empty(&reads)) {
            assert_true(pair->finer || (!any && (box_is_empty(&reads) || box_is_empty(&writes))));
            continue;
        }
        for (int d = 0; d < reads.n; d++) {
            assert_true(pair->finer ? reads.lo[d] >= needs.lo[d] : reads.lo[d] == needs.lo[d]);
            assert_true(pair->finer ? reads.hi[d] <= needs.hi[d] : reads.hi[d] == needs.hi[d]);
        }
    }
}

static void is_the_built_in_operator(void **state)
{
    const Pair *pair = *state;
    Fixture fixture = fixture_new();
    unsigned seed = 7;
    const OpSpace *ours =
        without_frozen(fixture.arena, space_of(&fixture, &pair->template), pair->finer);
    const OpSpace *theirs =
        without_frozen(fixture.arena, space_of(&fixture, &pair->built_in), false);
    same_cells(pair, fixture.arena, ours, theirs);
    if (pair->finer)
        moves_each_cell_once(fixture.arena, ours);
    for (int n = 0; n < 30; n++) {
        Box shard = random_shard(ours, &seed);
        if (is_legal(ours, &shard))
            same_ranges(pair, fixture.arena, ours, theirs, &shard);
    }
    fixture_free(&fixture);
}

/* The cells that an operand's range has are those which its points have, or for inputs at least. */
static void range_has_the_cells(const OpSpace *space, int i, const Box *shard)
{
    const Operand *operand = &space->operand[i];
    bool cells[CELLS_MAX] = {false}, output = i >= space->n_inputs;
    int64_t at[X_MAX], cell[X_MAX] = {0};
    Box range, whole = {.n = (int)operand->shape.n_dims};
    memcpy(at, shard->lo, sizeof at);
    memcpy(whole.hi, operand->shape.dim, sizeof operand->shape.dim);
    do {
        Box point = point_box(shard, at);
        mark_cells(operand, &point, cells);
    } while (step(shard, at));

    projection_range(&operand->projection, &operand->shape, shard, &range);
    for (int64_t c = 0; c < shape_elements(&operand->shape); c++, step(&whole, cell)) {
        bool inside = true;
        for (int d = 0; d < range.n; d++)
            inside = inside && range.lo[d] <= cell[d] && cell[d] < range.hi[d];
        assert_true(output ? cells[c] == inside : !cells[c] || inside);
    }
}

static void shards_read_what_they_need(void **state)
{
    const Pair *pair = *state;
    Fixture fixture = fixture_new();
    unsigned seed = 11;
    const OpSpace *space = space_of(&fixture, &pair->template);
    for (int n = 0; n < 30; n++) {
        Box shard = random_shard(space, &seed);
        for (int j = 0; j < shard.n; j++)
            if (space->index[j].role == ROLE_REDUCE)
                shard.hi[j] = 1 + rand_r(&seed) % space->index[j].size;
        for (int i = 0; is_legal(space, &shard) && i < space->n_inputs + space->n_outputs; i++)
            range_has_the_cells(space, i, &shard);
    }
    fixture_free(&fixture);
}

/* ---- op spaces as texts ---- */

/* Asks template.apply of the printed text, with the shapes of the op's inputs. */
static Json *apply_printed(Arena *arena, const OpSpace *space, const char *text)
{
    Json *request = json_object(), *inputs = json_object(), *answer = json_object();
    Error err = {0};
    for (int i = 0; i < space->n_inputs; i++) {
        const Operand *operand = &space->operand[i];
        Json *tensor = json_object();
        json_set(tensor, "shape", json_ints(operand->shape.dim, (int)operand->shape.n_dims));
        if (!operand->absent && !operand->ignored)
            json_set(inputs, arena_printf(arena, "input%d", i), tensor);
        else
            json_free(tensor);
    }
    json_set_str(request, "template", text);
    json_set(request, "inputs", inputs);
    if (!lua_eval_verb(STR("template.apply"))
             ->answer("template.apply", arena, request, answer, &err))
        fail_msg("%s\n%s", err.text, text);
    json_free(request);
    return answer;
}

/* The rows that were read back are those of the op space with its frozen dims folded. */
static void prints_as_a_template(void **state)
{
    const Pair *pair = *state;
    Fixture fixture = fixture_new();
    const OpSpace *space =
        without_frozen(fixture.arena, space_of(&fixture, &pair->built_in), false);
    Buf text = buf_new(fixture.arena), lost = buf_new(fixture.arena);
    template_print(space_of(&fixture, &pair->built_in), &text, &lost);
    Json *answer = apply_printed(fixture.arena, space, text.s);
    const Json *operands = json_get(answer, "operands");
    int at = 0;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        const Operand *operand = &space->operand[i];
        if (operand->absent || operand->ignored)
            continue;
        const Json *ipf = json_get(json_at(operands, at++), "ipf");
        for (int d = 0; d < operand->projection.n_dims; d++) {
            const Row *row = &operand->projection.row[d];
            assert_int_equal(json_int(json_at(json_get(ipf, "offset"), d), -99), row->offset);
            assert_int_equal(json_int(json_at(json_get(ipf, "window"), d), -99), row->window);
            int64_t sum = 0, want = 0; /* the order of index dims is not kept */
            for (int j = 0; j < space->n_index; j++) {
                sum += json_int(json_at(json_at(json_get(ipf, "projection"), d), j), 0);
                want += row->coef[j];
            }
            assert_int_equal(sum, want);
        }
    }
    assert_int_equal(json_size(operands), at);
    json_free(answer);
    fixture_free(&fixture);
}

int main(void)
{
    return run_rows("is the built-in operator", pairs, is_the_built_in_operator) +
           run_rows("shards read what they need", pairs, shards_read_what_they_need) +
           run_rows("prints as a template", pairs, prints_as_a_template);
}
