/* gen_copy.c - kernels that move elements: transposes, slices, joins, gathers of a collective.
 *
 * A move is a box of elements: per dim a size and strides in target and source, or tables of places
 * where those are irregular. Picks and pieces become moves: unpicked ends are dropped, dims with
 * regular strides are joined. Then it is
 *
 *     a copy of bytes            one dim, neighbours on both sides
 *     a transpose in tiles       the source's neighbours lie along another dim than the target's
 *     a loop over elements       the rest; as many at a time as lie together, up to 16 bytes
 */
#include "core/run/cuda/device_build.h"

#include <assert.h>

enum { TILE = 32, TILE_ROWS = 8, WIDEST = 16 };

/* With a table the stride is 0. */
typedef struct {
    int64_t size, to, from; /* strides in elements */
    const int64_t *to_table, *table;
} MoveDim;

typedef struct {
    int n_dims;
    MoveDim dim[DIMS_MAX];
    int64_t to_start, from_start;
    int64_t bytes; /* of one moved unit */
} Move;

static int64_t move_elements(const Move *move)
{
    int64_t n = 1;
    for (int d = 0; d < move->n_dims; d++)
        n *= move->dim[d].size;
    return n;
}

static bool is_even(const int64_t *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (from[i] == PICK_NONE || (i > 1 && from[i] - from[i - 1] != from[1] - from[0]))
            return false;
    return true;
}

/* One dim of picks without its unpicked ends. */
static MoveDim move_dim(Move *move, const int64_t *from, int64_t n, int64_t to)
{
    int64_t lo = 0, hi = n;
    while (lo < hi && from[lo] == PICK_NONE)
        lo++;
    while (hi > lo && from[hi - 1] == PICK_NONE)
        hi--;
    MoveDim dim = {.size = hi - lo, .to = to};
    move->to_start += lo * to;
    if (!is_even(from + lo, hi - lo)) {
        dim.table = from + lo;
    } else if (hi > lo) {
        move->from_start += from[lo];
        dim.from = hi - lo > 1 ? from[lo + 1] - from[lo] : 0;
    }
    return dim;
}

static bool has_table(const MoveDim *dim)
{
    return dim->to_table || dim->table;
}

static void join(Move *move)
{
    int n = 0;
    for (int d = 0; d < move->n_dims; d++) {
        MoveDim dim = move->dim[d];
        MoveDim *last = n > 0 ? &move->dim[n - 1] : NULL;
        if (dim.size == 1 && !has_table(&dim))
            continue;
        if (last && !has_table(last) && !has_table(&dim) && last->to == dim.to * dim.size &&
            last->from == dim.from * dim.size) {
            last->size *= dim.size;
            last->to = dim.to;
            last->from = dim.from;
        } else {
            move->dim[n++] = dim;
        }
    }
    move->n_dims = n;
}

static Move move_of(const Picks *picks, int64_t bytes)
{
    Move move = {.n_dims = picks->n_dims, .bytes = bytes};
    int64_t to = 1;
    for (int d = picks->n_dims - 1; d >= 0; d--) {
        move.dim[d] = move_dim(&move, picks->from[d], picks->size[d], to);
        to *= picks->size[d];
    }
    join(&move);
    return move;
}

/* The move between a contiguous message and a piece of a part. */
static Move move_of_piece(const Piece *piece, int64_t bytes, bool pack)
{
    Move move = {.n_dims = piece->n_dims + 1, .bytes = bytes};
    int64_t in_message = 1;
    *(pack ? &move.from_start : &move.to_start) = piece->first;
    for (int d = piece->n_dims; d >= 0; d--) {
        bool is_row = d == piece->n_dims;
        MoveDim *dim = &move.dim[d];
        dim->size = is_row ? piece->row : piece->size[d];
        *(pack ? &dim->to : &dim->from) = in_message;
        in_message *= dim->size;
        const int64_t *place = is_row ? NULL : piece->place[d];
        int64_t step = is_row ? 1 : 0;
        if (place && is_even(place, dim->size)) {
            *(pack ? &move.from_start : &move.to_start) += place[0];
            step = dim->size > 1 ? place[1] - place[0] : 0;
            place = NULL;
        }
        *(pack ? &dim->from : &dim->to) = step;
        *(pack ? &dim->table : &dim->to_table) = place;
    }
    join(&move);
    return move;
}

/* ---- wider units for contiguous elements ---- */

static bool table_divides(const int64_t *table, int64_t n, int64_t by)
{
    for (int64_t i = 0; table && i < n; i++)
        if (table[i] != PICK_NONE && table[i] % by != 0)
            return false;
    return true;
}

static const int64_t *divided(Arena *arena, const int64_t *table, int64_t n, int64_t by)
{
    if (!table)
        return NULL;
    int64_t *out = arena_array(arena, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = table[i] == PICK_NONE ? PICK_NONE : table[i] / by;
    return out;
}

static bool divides(const Move *move, int64_t by)
{
    int last = move->n_dims - 1;
    if (move->to_start % by != 0 || move->from_start % by != 0 || move->dim[last].size % by != 0)
        return false;
    for (int d = 0; d < last; d++) {
        const MoveDim *dim = &move->dim[d];
        if (dim->to % by != 0 || dim->from % by != 0 || !table_divides(dim->table, dim->size, by) ||
            !table_divides(dim->to_table, dim->size, by))
            return false;
    }
    return true;
}

static void widen(Arena *arena, Move *move)
{
    int last = move->n_dims - 1;
    if (last < 0 || has_table(&move->dim[last]) || move->dim[last].to != 1 ||
        move->dim[last].from != 1)
        return;
    int64_t by = WIDEST / move->bytes;
    while (by > 1 && !divides(move, by))
        by /= 2;
    move->bytes *= by;
    move->to_start /= by;
    move->from_start /= by;
    move->dim[last].size /= by;
    for (int d = 0; d < last; d++) {
        MoveDim *dim = &move->dim[d];
        dim->to /= by;
        dim->from /= by;
        dim->table = divided(arena, dim->table, dim->size, by);
        dim->to_table = divided(arena, dim->to_table, dim->size, by);
    }
}

/* ---- the loop over elements ---- */

const char *unit_type(int64_t bytes)
{
    return bytes == 1   ? "unsigned char"
           : bytes == 2 ? "unsigned short"
           : bytes == 4 ? "u32"
           : bytes == 8 ? "u64"
                        : "struct ALIGNED(16) { u64 e[2]; }";
}

/* Arguments: to, from, n, then per dim size, stride or table in to and in from. */
static void put_arguments(KernelText *k, const Move *move, DevicePlace to, DevicePlace from)
{
    buf_puts(&k->text, "typedef struct {\n    Unit *to;\n    const Unit *from;\n    i64 n;\n");
    ARGS_PLACES(k, place_plus(to, move->to_start * move->bytes),
                place_plus(from, move->from_start * move->bytes));
    ARGS_I64(k, move_elements(move));
    for (int d = 0; d < move->n_dims; d++) {
        const MoveDim *dim = &move->dim[d];
        put_step(k, "size", d, dim->size, NULL, 0);
        put_step(k, "to", d, dim->to, dim->to_table, dim->size);
        put_step(k, "from", d, dim->from, dim->table, dim->size);
    }
    buf_puts(&k->text, "} Args;\n");
}

/* Computes the places `to` and `from` of element i; `here` is false where nothing is picked. */
static void put_places(const Move *move, const char *index, Buf *text)
{
    buf_printf(text, "        %s rest = i;\n        i64 to = 0, from = 0;\n        int here = 1;\n",
               index);
    for (int d = move->n_dims - 1; d >= 0; d--) {
        const char *at = "rest";
        if (d > 0) {
            buf_printf(text,
                       "        %s i%d = rest %% (%s)a.size%d;\n"
                       "        rest /= (%s)a.size%d;\n",
                       index, d, index, d, index, d);
            at = arena_printf(text->arena, "i%d", d);
        }
        if (move->dim[d].to_table)
            buf_printf(text, "        to += a.to%d[%s];\n", d, at);
        else
            buf_printf(text, "        to += %s * a.to%d;\n", at, d);
        if (move->dim[d].table)
            buf_printf(text,
                       "        i64 t%d = a.from%d[%s];\n"
                       "        here &= t%d != NONE;\n"
                       "        from += t%d;\n",
                       d, d, at, d, d);
        else
            buf_printf(text, "        from += %s * a.from%d;\n", at, d);
    }
}

static void put_loop(const Move *move, const char *what, Buf *text)
{
    const char *index = index_type(move_elements(move));
    buf_printf(text,
               "#define NONE ((i64)((u64)1 << 63))\n"
               "KERNEL(%d, NAME, Args)\n{\n"
               "    %s step = gridDim.x * (%s)%d;\n"
               "    for (%s i = blockIdx.x * (%s)%d + threadIdx.x; i < (%s)a.n; i += step) {\n",
               DEVICE_THREADS, index, index, DEVICE_THREADS, index, index, DEVICE_THREADS, index);
    put_places(move, index, text);
    buf_printf(text, "        if (here)\n            %s\n    }\n}\n", what);
}

static void build_loop(DeviceBuild *build, const Move *move, DevicePlace to, DevicePlace from)
{
    KernelText k = kernel_text(build, "move_%d", (int)move->bytes * 8);
    buf_printf(&k.text, "typedef %s Unit;\n", unit_type(move->bytes));
    put_arguments(&k, move, to, from);
    put_loop(move, "a.to[to] = a.from[from];", &k.text);
    build_launch(&k, launch_over(move_elements(move)));
}

/* Expression of a reduction of x and y; NULL when there is none. */
static const char *reduction_text(ReduceOp reduce)
{
    static const char *const texts[] = {
        [REDUCE_SUM] = "x + y",         [REDUCE_AVG] = "x + y",  [REDUCE_MAX] = "MOST(x, >, y)",
        [REDUCE_MIN] = "MOST(x, <, y)", [REDUCE_PROD] = "x * y", [REDUCE_ANY] = "MOST(x, >, y)",
        [REDUCE_ALL] = "MOST(x, <, y)",
    };
    return texts[reduce];
}

static void build_combine(DeviceBuild *build, const Move *move, Dtype dtype, ReduceOp reduce,
                          DevicePlace to, DevicePlace from)
{
    const char *order = dtype == DT_U64 ? "u64" : "C";
    KernelText k = kernel_text(build, "combine_%s", dtype_name(dtype));
    put_types(&k, dtype, dtype_number(dtype));
    buf_printf(&k.text,
               "#define MOST(x, than, y) ((%s)x than (%s)y || !(x == x) ? x : y)\n"
               "typedef T Unit;\n",
               order, order);
    put_combine(&k, reduction_text(reduce));
    put_arguments(&k, move, to, from);
    put_loop(move, "a.to[to] = combine(a.to[to], a.from[from]);", &k.text);
    build_launch(&k, launch_over(move_elements(move)));
}

/* ---- transposes in tiles ---- */

/* The source's contiguous dim, if tiles are worth it; -1. */
static int tiled_dim(const Move *move)
{
    int last = move->n_dims - 1;
    if (last < 1 || move->bytes > 8 || has_table(&move->dim[last]) || move->dim[last].to != 1 ||
        move->dim[last].from == 1 || move->dim[last].size < TILE / 2)
        return -1;
    for (int d = 0; d < last; d++)
        if (!has_table(&move->dim[d]) && move->dim[d].from == 1 && move->dim[d].size >= TILE / 2)
            return d;
    return -1;
}

static const char tile_body[] =
    "typedef struct {\n"
    "    Unit *to;\n"
    "    const Unit *from;\n"
    "    i64 across, down, to_step, from_step, n_rest;\n"
    "    i64 size[REST + 1], to_rest[REST + 1], from_rest[REST + 1];\n"
    "} Args;\n"
    "/* across: neighbours in the target; down: neighbours in the source. */\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    SHARED Unit tile[32][33];\n"
    "    i64 x = (i64)blockIdx.x * 32, y = (i64)blockIdx.y * 32;\n"
    "    int column = threadIdx.x % 32, row = threadIdx.x / 32;\n"
    "    for (i64 b = blockIdx.z; b < a.n_rest; b += gridDim.z) {\n"
    "        i64 to = 0, from = 0, rest = b;\n"
    "        UNROLL\n"
    "        for (int d = REST - 1; d >= 0; d--) {\n"
    "            i64 at = rest % a.size[d];\n"
    "            rest /= a.size[d];\n"
    "            to += at * a.to_rest[d];\n"
    "            from += at * a.from_rest[d];\n"
    "        }\n"
    "        for (int k = row; k < 32; k += 8)\n"
    "            if (x + k < a.across && y + column < a.down)\n"
    "                tile[k][column] = a.from[from + (x + k) * a.from_step + y + column];\n"
    "        __syncthreads();\n"
    "        for (int k = row; k < 32; k += 8)\n"
    "            if (x + column < a.across && y + k < a.down)\n"
    "                a.to[to + (y + k) * a.to_step + x + column] = tile[column][k];\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n";

static bool build_tiles(DeviceBuild *build, const Move *move, int down, DevicePlace to,
                        DevicePlace from)
{
    int last = move->n_dims - 1, n_rest = 0;
    const MoveDim *rest[DIMS_MAX], *across = &move->dim[last], *row = &move->dim[down];
    int64_t n = 1;
    for (int d = 0; d < last; d++) {
        if (d == down)
            continue;
        if (has_table(&move->dim[d]))
            return false;
        rest[n_rest++] = &move->dim[d];
        n *= move->dim[d].size;
    }
    LaunchSize size = {
        {(across->size + TILE - 1) / TILE, (row->size + TILE - 1) / TILE, n}, TILE * TILE_ROWS, 0};
    if (size.grid[1] > 65535)
        return false;
    size.grid[2] = n < 65535 ? n : 65535;
    KernelText k = kernel_text(build, "transpose_%d", (int)move->bytes * 8);
    buf_printf(&k.text, "typedef %s Unit;\nenum { REST = %d };\n%s", unit_type(move->bytes), n_rest,
               tile_body);
    ARGS_PLACES(&k, place_plus(to, move->to_start * move->bytes),
                place_plus(from, move->from_start * move->bytes));
    ARGS_I64(&k, across->size, row->size, row->to, across->from, n);
    for (int field = 0; field < 3; field++) {
        for (int d = 0; d < n_rest; d++)
            ARGS_I64(&k, field == 0 ? rest[d]->size : field == 1 ? rest[d]->to : rest[d]->from);
        ARGS_I64(&k, 0);
    }
    build_launch(&k, size);
    return true;
}

/* ---- any move ---- */

static bool do_move(DeviceBuild *build, Dtype dtype, Move move, ReduceOp reduce, DevicePlace to,
                    DevicePlace from)
{
    int64_t n = move_elements(&move);
    if (n == 0)
        return true;
    if (reduce != REDUCE_NONE) {
        if (!dtype_on_device(dtype))
            return false;
        build_combine(build, &move, dtype, reduce, to, from);
        return true;
    }
    bool together = move.n_dims == 0 || (move.n_dims == 1 && !has_table(&move.dim[0]) &&
                                         move.dim[0].to == 1 && move.dim[0].from == 1);
    if (together) {
        build_copy(build, place_plus(to, move.to_start * move.bytes),
                   place_plus(from, move.from_start * move.bytes), n * move.bytes);
        return true;
    }
    int down = tiled_dim(&move);
    if (down >= 0 && build_tiles(build, &move, down, to, from))
        return true;
    widen(build->arena, &move);
    build_loop(build, &move, to, from);
    return true;
}

bool build_move(DeviceBuild *build, Dtype dtype, const Picks *picks, DevicePlace to,
                DevicePlace from)
{
    return do_move(build, dtype, move_of(picks, element_bytes(dtype)), REDUCE_NONE, to, from);
}

/* ---- back to where elements came from ---- */

typedef struct {
    int64_t gap, range; /* the least distance of two places; from the first to the last */
} Spread;

static bool spread_of(const Picks *picks, int d, Spread *out)
{
    int64_t n = 0, *sorted = arena_array(picks->arena, int64_t, picks->size[d]);
    bool ascends = true;
    for (int64_t i = 0; i < picks->size[d]; i++) {
        int64_t place = picks->from[d][i], at = n;
        if (place == PICK_NONE)
            continue;
        ascends = ascends && (n == 0 || place > sorted[n - 1]);
        for (; !ascends && at > 0 && sorted[at - 1] > place; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = place;
        n++;
    }
    *out =
        (Spread){n > 1 ? sorted[1] - sorted[0] : INT64_MAX, n > 1 ? sorted[n - 1] - sorted[0] : 0};
    for (int64_t i = 1; i < n; i++)
        out->gap = sorted[i] - sorted[i - 1] < out->gap ? sorted[i] - sorted[i - 1] : out->gap;
    return out->gap > 0;
}

/* Each dim's gaps are wider than what all dims with smaller gaps reach together. */
bool picks_each_once(const Picks *picks)
{
    Spread spread[DIMS_MAX];
    int64_t reached = 0;
    for (int d = 0; d < picks->n_dims; d++) {
        Spread own;
        int at = d;
        if (!spread_of(picks, d, &own))
            return false;
        for (; at > 0 && spread[at - 1].gap > own.gap; at--)
            spread[at] = spread[at - 1];
        spread[at] = own;
    }
    for (int d = 0; d < picks->n_dims; d++) {
        if (spread[d].gap <= reached)
            return false;
        reached += spread[d].range;
    }
    return true;
}

/* Picked elements of dim d: their places, and what they are picked for. */
static MoveDim back_dim(Move *move, const Picks *picks, int d, int64_t from)
{
    int64_t *to_table = arena_array(picks->arena, int64_t, picks->size[d]), n = 0;
    int64_t *table = arena_array(picks->arena, int64_t, picks->size[d]);
    for (int64_t i = 0; i < picks->size[d]; i++)
        if (picks->from[d][i] != PICK_NONE) {
            to_table[n] = picks->from[d][i];
            table[n++] = i * from;
        }
    MoveDim dim = {.size = n, .to_table = to_table, .table = table};
    if (n > 0 && is_even(to_table, n)) {
        move->to_start += to_table[0];
        dim.to = n > 1 ? to_table[1] - to_table[0] : 0;
        dim.to_table = NULL;
    }
    if (n > 0 && is_even(table, n)) {
        move->from_start += table[0];
        dim.from = n > 1 ? table[1] - table[0] : 0;
        dim.table = NULL;
    }
    return dim;
}

/* Dims in the order in which the targets lie. */
static void sort_dims(Move *move)
{
    for (int d = 1; d < move->n_dims; d++) {
        MoveDim dim = move->dim[d];
        int at = d;
        for (; at > 0 && !has_table(&dim) && !has_table(&move->dim[at - 1]) &&
               move->dim[at - 1].to < dim.to;
             at--)
            move->dim[at] = move->dim[at - 1];
        move->dim[at] = dim;
    }
}

bool build_back(DeviceBuild *build, Dtype dtype, const Picks *picks, bool adds, DevicePlace to,
                DevicePlace from)
{
    Move move = {.n_dims = picks->n_dims, .bytes = element_bytes(dtype)};
    int64_t step = 1;
    for (int d = picks->n_dims - 1; d >= 0; d--) {
        move.dim[d] = back_dim(&move, picks, d, step);
        step *= picks->size[d];
    }
    sort_dims(&move);
    join(&move);
    return do_move(build, dtype, move, adds ? REDUCE_SUM : REDUCE_NONE, to, from);
}

bool build_strided(DeviceBuild *build, Dtype dtype, const Shape *size, const int64_t *to_stride,
                   const int64_t *from_stride, DevicePlace to, DevicePlace from)
{
    Move move = {.n_dims = (int)size->n_dims, .bytes = element_bytes(dtype)};
    for (int d = 0; d < move.n_dims; d++)
        move.dim[d] = (MoveDim){.size = size->dim[d], .to = to_stride[d], .from = from_stride[d]};
    join(&move);
    return do_move(build, dtype, move, REDUCE_NONE, to, from);
}

bool build_piece(DeviceBuild *build, Dtype dtype, const Piece *piece, bool pack, ReduceOp reduce,
                 DevicePlace to, DevicePlace from)
{
    Move move = move_of_piece(piece, element_bytes(dtype), pack);
    return do_move(build, dtype, move, reduce, to, from);
}

/* ---- operators ---- */

/* Copies the elements in the same order. */
static bool same(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    if (!in || in->dtype != out->dtype || local_bytes(in) != local_bytes(out))
        return false;
    int op = device_op_at(build, call);
    build_copy(build, place_output(op, 0), place_input(op, 0), local_bytes(out));
    return true;
}

typedef struct {
    PickSink sink;
    DeviceBuild *build;
    const KernelCall *call, *asked; /* asked: the call with inputs that the host can read */
    bool failed;
} Recorder;

static void record(PickSink *sink, const Local *to, const Local *from, const Picks *picks)
{
    Recorder *recorder = (Recorder *)sink; /* its first member */
    const KernelCall *call = recorder->call;
    int op = device_op_at(recorder->build, call), input = 0, output = 0;
    while (input < call->n_inputs && recorder->asked->input[input] != from)
        input++;
    while (output < call->n_outputs && call->output[output] != to)
        output++;
    recorder->failed |= input == call->n_inputs || output == call->n_outputs ||
                        !build_move(recorder->build, to->dtype, picks, place_output(op, output),
                                    place_input(op, input));
}

bool build_recorded(DeviceBuild *build, const KernelCall *call)
{
    KernelCall asked = device_readable(call);
    Recorder recorder = {.sink = {record}, .build = build, .call = call, .asked = &asked};
    Error err = {0};
    asked.sink = &recorder.sink;
    return call->kernel->run(&asked, &err) && !recorder.failed;
}

static bool recorded(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    return build_recorded(build, call);
}

static const char fill_body[] =
    "typedef struct {\n    Unit *to;\n    const Unit *from;\n    i64 n;\n} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    i64 step = (i64)gridDim.x * 256;\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += step)\n"
    "        a.to[i] = *a.from;\n"
    "}\n";

void build_fill(DeviceBuild *build, int64_t bytes, int64_t n, DevicePlace to, DevicePlace from)
{
    KernelText k = kernel_text(build, "fill_%d", (int)bytes * 8);
    buf_printf(&k.text, "typedef %s Unit;\n%s", unit_type(bytes), fill_body);
    ARGS_PLACES(&k, to, from);
    ARGS_I64(&k, n);
    build_launch(&k, launch_over(n));
}

/* Fills the output, then copies the input into it. */
static bool pad(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *value = kernel_input(call, 2), *out = call->output[0];
    int op = device_op_at(build, call);
    double fill = op_attr_float(kernel_graph(call), call->op, "value", 0);
    int64_t bytes = element_bytes(out->dtype), n = shape_elements(&out->shape);
    if (value && value->dtype != out->dtype)
        return false;
    if (value) {
        build_fill(build, bytes, n, place_output(op, 0), place_input(op, 2));
    } else if (fill == 0) {
        build_zero(build, place_output(op, 0), n * bytes);
    } else {
        uint64_t element[2] = {0};
        elements_store(out->dtype, element, 1, NUMBER_F64, &fill);
        build_fill(build, bytes, n, place_output(op, 0), place_table(build, element, 16));
    }
    return recorded(build, call, row);
}

/* Inference only: copies the input, the mask is 1. */
static bool dropout(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *mask = kernel_output(call, 1);
    const int64_t one = 1;
    int64_t training;
    uint64_t element[2] = {0};
    if (!device_known_int(call, 2, 0, &training) || training || !call->output[0] ||
        !same(build, call, row) || (mask && !dtype_on_device(mask->dtype)))
        return false;
    if (!mask)
        return true;
    elements_store(mask->dtype, element, 1, NUMBER_I64, &one);
    build_fill(build, element_bytes(mask->dtype), shape_elements(&mask->shape),
               place_output(device_op_at(build, call), 1), place_table(build, element, 16));
    return true;
}

const DeviceOp device_ops_copy[] = {
    {"Dropout", dropout, NULL},
    {"view", same, NULL},
    {"Transpose", recorded, NULL},
    {"Expand", recorded, NULL},
    {"Slice", recorded, NULL},
    {"Split", recorded, NULL},
    {"Concat", recorded, NULL},
    {"Tile", recorded, NULL},
    {"DepthToSpace", recorded, NULL},
    {"SpaceToDepth", recorded, NULL},
    {"Roll", recorded, NULL},
    {"Pad", pad, NULL},
    {0},
};
