#include "core/base/intern.h"
#include "core/run/cuda/device_build.h"

/* ---- texts ---- */

struct DeviceTexts {
    Arena *arena;
    Intern *ids;
    Str head;
};

DeviceTexts *device_texts_new(Arena *arena)
{
    DeviceTexts *texts = arena_make(arena, DeviceTexts);
    Buf head = buf_new(arena);
    device_head(&head);
    *texts = (DeviceTexts){arena, intern_new(arena), buf_str(&head)};
    return texts;
}

int32_t device_texts_count(const DeviceTexts *texts)
{
    return intern_count(texts->ids);
}

Str device_text(const DeviceTexts *texts, int32_t id)
{
    Str text;
    text.s = intern_key(texts->ids, id, &text.n);
    return text;
}

static int32_t put_text(DeviceTexts *texts, Arena *scratch, Str body)
{
    Buf whole = buf_new(scratch);
    buf_add(&whole, texts->head);
    buf_add(&whole, body);
    return intern_put(texts->ids, whole.s, whole.n);
}

const char *number_name(Number number)
{
    static const char *const names[NUMBER_KINDS] = {"f32", "f64", "i64"};
    return names[number];
}

const char *index_type(int64_t n)
{
    return n < INT32_MAX ? "u32" : "i64";
}

bool dtype_on_device(Dtype dtype)
{
    static const bool held[DT_COUNT] = {
        [DT_F32] = true, [DT_F64] = true, [DT_F16] = true,  [DT_BF16] = true, [DT_I8] = true,
        [DT_U8] = true,  [DT_I16] = true, [DT_U16] = true,  [DT_I32] = true,  [DT_U32] = true,
        [DT_I64] = true, [DT_U64] = true, [DT_BOOL] = true,
    };
    return held[dtype];
}

/* ---- places ---- */

DevicePlace place_input(int op, int index)
{
    return (DevicePlace){.kind = AT_INPUT, .op = op, .index = index};
}

DevicePlace place_output(int op, int index)
{
    return (DevicePlace){.kind = AT_OUTPUT, .op = op, .index = index};
}

DevicePlace place_fault(void)
{
    return (DevicePlace){.kind = AT_FAULT};
}

DevicePlace place_workspace(DeviceBuild *build, int64_t n_bytes)
{
    vec_push(build->arena, &build->workspaces, n_bytes);
    return (DevicePlace){.kind = AT_WORKSPACE, .index = build->workspaces.n - 1};
}

DevicePlace place_table(DeviceBuild *build, const void *bytes, int64_t n_bytes)
{
    void *copy = arena_alloc(build->arena, (size_t)n_bytes);
    memcpy(copy, bytes, (size_t)n_bytes);
    vec_push(build->arena, &build->tables, (DeviceTable){copy, n_bytes});
    return (DevicePlace){.kind = AT_TABLE, .index = build->tables.n - 1};
}

DevicePlace place_plus(DevicePlace place, int64_t n_bytes)
{
    place.offset_bytes += n_bytes;
    return place;
}

/* ---- a kernel: its text and its arguments ---- */

KernelText kernel_text(DeviceBuild *build, const char *format, ...)
{
    Buf name = buf_new(build->arena);
    va_list args;
    va_start(args, format);
    buf_vprintf(&name, format, args);
    va_end(args);
    KernelText kernel = {.build = build, .name = name.s, .text = buf_new(build->arena)};
    buf_printf(&kernel.text, "#define NAME %s\n", name.s);
    return kernel;
}

void put_class(KernelText *kernel, Number class)
{
    static const char *const functions[] = {"EXP exp",   "LOG log",   "LOG1P log1p",
                                            "SQRT sqrt", "TANH tanh", "POW pow"};
    const char *c = number_name(class);
    buf_printf(&kernel->text, "typedef c_%s C;\n#define SHUFFLE(x, m) shuffle_xor_%s(x, m)\n", c,
               c);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        buf_printf(&kernel->text, "#define %s%s\n", functions[i], class == NUMBER_F32 ? "f" : "");
}

void put_types(KernelText *kernel, Dtype dtype, Number class)
{
    const char *t = dtype_name(dtype), *c = number_name(class);
    put_class(kernel, class);
    buf_printf(&kernel->text,
               "typedef t_%s T;\n#define LOAD(x) load_%s_%s(x)\n#define STORE(x) store_%s_%s(x)\n",
               t, t, c, t, c);
}

void put_combine(KernelText *kernel, const char *expression)
{
    buf_printf(&kernel->text,
               "DEVICE T combine(T was, T with)\n{\n    C x = LOAD(was), y = LOAD(with);\n"
               "    return STORE(%s);\n}\n",
               expression);
}

void args_places(KernelText *kernel, size_t n, const DevicePlace *places)
{
    for (size_t i = 0; i < n; i++)
        arg_place_if(kernel, true, places[i]);
}

void args_i64(KernelText *kernel, size_t n, const int64_t *numbers)
{
    for (size_t i = 0; i < n; i++)
        vec_push(kernel->build->arena, &kernel->args,
                 (DeviceWord){.kind = WORD_I64, .i64 = numbers[i]});
}

void arg_f64(KernelText *kernel, double number)
{
    vec_push(kernel->build->arena, &kernel->args, (DeviceWord){.kind = WORD_F64, .f64 = number});
}

void arg_table(KernelText *kernel, const void *bytes, int64_t n_bytes)
{
    ARGS_PLACES(kernel, place_table(kernel->build, bytes, n_bytes));
}

void arg_place_if(KernelText *kernel, bool present, DevicePlace place)
{
    DeviceWord word = {.kind = present ? WORD_PLACE : WORD_I64, .place = place};
    vec_push(kernel->build->arena, &kernel->args, word);
}

void put_step(KernelText *k, const char *name, int d, int64_t step, const int64_t *table, int64_t n)
{
    buf_printf(&k->text, "    %s%s%d;\n", table ? "const i64 *" : "i64 ", name, d);
    if (table)
        arg_table(k, table, n * 8);
    else
        ARGS_I64(k, step);
}

void arg_row_table(KernelText *k, const Local *local, int64_t d)
{
    const Runs *runs = &local->runs[d];
    int64_t size = local->whole.dim[d];
    if (runs->local_size == size && runs->n <= 1) {
        ARGS_I64(k, 0);
        return;
    }
    int64_t *table = arena_array(k->build->arena, int64_t, size);
    for (int64_t i = 0; i < size; i++)
        table[i] = runs_find(runs, i);
    arg_table(k, table, size * 8);
}

/* ---- items ---- */

LaunchSize launch_over(int64_t n)
{
    int64_t blocks = (n + DEVICE_THREADS - 1) / DEVICE_THREADS;
    blocks = blocks < 1 ? 1 : blocks > DEVICE_BLOCKS_MAX ? DEVICE_BLOCKS_MAX : blocks;
    return (LaunchSize){{blocks, 1, 1}, DEVICE_THREADS, 0};
}

void build_launch(const KernelText *kernel, LaunchSize size)
{
    DeviceBuild *build = kernel->build;
    DeviceItem item = {.kind = ITEM_LAUNCH};
    item.launch.text = put_text(build->texts, build->arena, buf_str(&kernel->text));
    item.launch.name = kernel->name;
    for (int d = 0; d < 3; d++) {
        item.launch.grid[d] = size.grid[d];
        item.launch.block[d] = d == 0 ? size.threads : 1;
    }
    item.launch.shared_bytes = size.shared_bytes;
    item.launch.n_words = kernel->args.n;
    item.launch.word = kernel->args.at;
    vec_push(build->arena, &build->items, item);
}

void build_copy(DeviceBuild *build, DevicePlace to, DevicePlace from, int64_t n_bytes)
{
    DeviceItem item = {.kind = ITEM_COPY, .to = to, .from = from, .n_bytes = n_bytes};
    vec_push(build->arena, &build->items, item);
}

void build_zero(DeviceBuild *build, DevicePlace to, int64_t n_bytes)
{
    DeviceItem item = {.kind = ITEM_ZERO, .to = to, .n_bytes = n_bytes};
    vec_push(build->arena, &build->items, item);
}

void build_matmul(DeviceBuild *build, const DeviceMatmul *matmul)
{
    DeviceItem item = {.kind = ITEM_MATMUL, .matmul = *matmul};
    vec_push(build->arena, &build->items, item);
}

/* ---- reading calls ---- */

enum { CONSTANT_MOST = 64 }; /* constants with more elements are not read */

/* Elements of a constant in the model; NULL when it is not one or cannot be read. */
static void *constant_data(const KernelCall *call, int32_t tensor, const Local *local)
{
    const Graph *graph = kernel_graph(call);
    const GraphTensor *at = &graph->tensors[tensor];
    const Attr *value = NULL;
    Error err = {0};
    int64_t n = shape_elements(&local->whole);
    if (at->maker >= 0 && strcmp(op_operator(graph, at->maker), "Constant") == 0)
        value = op_attr(graph, at->maker, "value");
    const TensorData *data = at->data >= 0                         ? &graph->data[at->data]
                             : value && value->type == ATTR_TENSOR ? value->tensor
                                                                   : NULL;
    if (!data || n > CONSTANT_MOST || shape_elements(&local->shape) != n)
        return NULL;
    void *out = arena_alloc(call->scratch, (size_t)local_bytes(local));
    return data_read(data, local->dtype, n, out, &err) ? out : NULL;
}

KernelCall device_readable(const KernelCall *call)
{
    KernelCall out = *call;
    const Local **input = arena_array(call->scratch, const Local *, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++) {
        if (!call->input[i])
            continue;
        Local *copy = arena_make(call->scratch, Local);
        *copy = *call->input[i];
        copy->data = constant_data(call, op_inputs(kernel_graph(call), call->op)[i], copy);
        input[i] = copy;
    }
    out.input = input;
    return out;
}

RuleCall device_rule_call(const KernelCall *call)
{
    KernelCall readable = device_readable(call);
    return kernel_rule_call(&readable);
}

bool device_known_int(const KernelCall *call, int input, int64_t fallback, int64_t *out)
{
    *out = fallback;
    if (input >= call->n_inputs || op_inputs(kernel_graph(call), call->op)[input] < 0)
        return true;
    const Value *value = kernel_value(call, input);
    return value && !value_is_deferred(value) && shape_elements(&value->shape) == 1 &&
           value_int_at(value, 0, out);
}

int device_op_at(const DeviceBuild *build, const KernelCall *call)
{
    int op = 0;
    while (op < build->n_run && build->run[op] != call)
        op++;
    return op;
}

/* ---- the work ---- */

bool device_unsigned(const KernelCall *call)
{
    bool any = false;
    for (int i = 0; i < call->n_inputs; i++)
        any |= call->input[i] && call->input[i]->dtype == DT_U64;
    for (int o = 0; o < call->n_outputs; o++)
        any |= call->output[o] && call->output[o]->dtype == DT_U64;
    return any;
}

static const DeviceOp *find_op(const KernelCall *call)
{
    static const DeviceOp *const families[] = {
        device_ops_copy,     device_ops_matmul,        device_ops_rows,
        device_ops_gather,   device_ops_reduce,        device_ops_along,
        device_ops_window,   device_ops_resize,        device_ops_attention,
        device_ops_contract, device_ops_optimizer,     device_ops_loss,
        device_ops_move,     device_ops_norm_gradient, device_ops_window_gradient};
    if (!kernel_is_built_in(call->kernel))
        return NULL;
    /* only the first family moves elements without computing */
    bool moves_only = device_unsigned(call);
    for (size_t f = 0; f < (moves_only ? 1 : sizeof families / sizeof *families); f++)
        for (const DeviceOp *op = families[f]; op->name; op++)
            if (strcmp(op->name, call->kernel->name) == 0)
                return op;
    return NULL;
}

static bool has_elements(const KernelCall *call)
{
    for (int o = 0; o < call->n_outputs; o++)
        if (call->output[o] && shape_elements(&call->output[o]->shape) > 0)
            return true;
    return false;
}

static DeviceWork finish(const DeviceBuild *build)
{
    return (DeviceWork){.n_ops = build->n_done,
                        .n_items = build->items.n,
                        .n_tables = build->tables.n,
                        .n_workspaces = build->workspaces.n,
                        .item = build->items.at,
                        .table = build->tables.at,
                        .workspace_bytes = build->workspaces.at};
}

bool device_work(Arena *arena, DeviceTexts *texts, const KernelCall *const *run, int n,
                 const bool *kept, DeviceWork *out)
{
    DeviceBuild build = {.arena = arena, .texts = texts, .run = run, .kept = kept, .n_run = n};
    build.n_done = 1;
    *out = (DeviceWork){0};
    if (is_pointwise(run[0])) {
        build.n_done = has_elements(run[0]) ? build_pointwise(&build, 0) : 1;
    } else {
        const DeviceOp *op = find_op(run[0]);
        if (!op || (has_elements(run[0]) && !op->make(&build, run[0], op->row)))
            return false;
    }
    *out = finish(&build);
    return out->n_ops > 0;
}

/* ---- for collectives ---- */

bool device_pack(Arena *arena, DeviceTexts *texts, Dtype dtype, const Piece *piece,
                 DevicePlace part, DevicePlace message, DeviceWork *out)
{
    DeviceBuild build = {.arena = arena, .texts = texts, .n_done = 1};
    bool ok = build_piece(&build, dtype, piece, true, REDUCE_NONE, message, part);
    *out = finish(&build);
    return ok;
}

bool device_unpack(Arena *arena, DeviceTexts *texts, Dtype dtype, const Piece *piece,
                   ReduceOp reduce, DevicePlace message, DevicePlace part, DeviceWork *out)
{
    DeviceBuild build = {.arena = arena, .texts = texts, .n_done = 1};
    bool ok = build_piece(&build, dtype, piece, false, reduce, part, message);
    *out = finish(&build);
    return ok;
}

bool device_scale(Arena *arena, DeviceTexts *texts, Dtype dtype, int64_t n, double factor,
                  DevicePlace at, DeviceWork *out)
{
    DeviceBuild build = {.arena = arena, .texts = texts, .n_done = 1};
    bool ok = n == 0 || build_scale(&build, dtype, n, factor, at);
    *out = finish(&build);
    return ok;
}

bool device_draw(Arena *arena, DeviceTexts *texts, const Local *part, uint64_t key, double scale,
                 DevicePlace to, DeviceWork *out)
{
    DeviceBuild build = {.arena = arena, .texts = texts, .n_done = 1};
    bool ok = shape_elements(&part->shape) == 0 || build_draw(&build, part, key, scale, to);
    *out = finish(&build);
    return ok;
}
