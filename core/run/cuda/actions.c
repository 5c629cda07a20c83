#include "core/run/cuda/gpu.h"

/* ---- building actions ---- */

Address scratch_address(GpuRank *gpu, int at, int64_t n_bytes)
{
    InstrUse *use = &gpu->use[at];
    Address address = {.kind = ADDRESS_SCRATCH, .offset_bytes = use->scratch_bytes};
    int64_t n = n_bytes > 0 ? n_bytes : 1;
    use->scratch_bytes += (n + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
    return address;
}

Address slot_address(int32_t slot, int64_t offset_bytes)
{
    return (Address){.kind = ADDRESS_SLOT, .slot = slot, .offset_bytes = offset_bytes};
}

void use_slot(GpuRank *gpu, int at, int32_t slot, bool writes)
{
    InstrUse *use = &gpu->use[at];
    int n = writes ? use->n_writes : use->n_reads;
    const int32_t *old = writes ? use->write : use->read;
    for (int i = 0; i < n; i++)
        if (old[i] == slot)
            return;
    int32_t *list = arena_array(gpu->arena, int32_t, n + 1);
    if (n > 0)
        memcpy(list, old, sizeof *list * (size_t)n);
    list[n] = slot;
    if (writes) {
        use->write = list;
        use->n_writes = n + 1;
    } else {
        use->read = list;
        use->n_reads = n + 1;
    }
}

static void place_tables(GpuRank *gpu, const DeviceWork *work, WorkPlaces *places)
{
    places->table = arena_array(gpu->arena, int64_t, work->n_tables);
    for (int t = 0; t < work->n_tables; t++) {
        places->table[t] = gpu->table_bytes;
        vec_push(gpu->arena, &gpu->tables, work->table[t]);
        gpu->table_bytes += (work->table[t].n_bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
    }
}

void add_work(GpuRank *gpu, int at, const DeviceWork *work, const WorkPlaces *places)
{
    static const ActionKind kinds[] = {[ITEM_LAUNCH] = ACT_LAUNCH,
                                       [ITEM_MATMUL] = ACT_PRODUCT,
                                       [ITEM_COPY] = ACT_COPY,
                                       [ITEM_ZERO] = ACT_ZERO};
    WorkPlaces *own = arena_make(gpu->arena, WorkPlaces);
    *own = *places;
    own->workspace = arena_array(gpu->arena, int64_t, work->n_workspaces);
    for (int w = 0; w < work->n_workspaces; w++)
        own->workspace[w] = scratch_address(gpu, at, work->workspace_bytes[w]).offset_bytes;
    place_tables(gpu, work, own);
    for (int i = 0; i < work->n_items; i++) {
        GpuAction action = {.kind = kinds[work->item[i].kind], .group = -1};
        action.item = &work->item[i];
        action.places = own;
        action.n_bytes = (size_t)work->item[i].n_bytes;
        vec_push(gpu->arena, &gpu->actions[at], action);
    }
}

/* ---- resolving addresses ---- */

static GpuRank *peer_of(const GpuRank *gpu, int64_t position)
{
    return gpu->team->rank[position - gpu->rank->team->first_rank];
}

static char *address_of(const GpuRank *gpu, int at, Address address)
{
    char *base = gpu->memory;
    switch (address.kind) {
    case ADDRESS_SLOT:
        base += gpu->schedule.place[address.slot];
        break;
    case ADDRESS_PEER:
        base = peer_of(gpu, address.peer)->memory +
               peer_of(gpu, address.peer)->schedule.place[address.slot];
        break;
    case ADDRESS_SCRATCH:
        base += gpu->schedule.instr[at].scratch;
        break;
    }
    return base + address.offset_bytes;
}

/* The slot of an operand of an op of the program. */
static int32_t operand_slot(const GpuRank *gpu, int32_t op, PlaceKind kind, int index)
{
    const GraphOp *graph_op = &gpu_graph(gpu)->ops[op];
    int first = kind == AT_INPUT ? graph_op->input : op_output_place(graph_op);
    return gpu_program(gpu)->operand[first + index];
}

static char *place_of(const GpuRank *gpu, int at, const WorkPlaces *places, DevicePlace place)
{
    char *base = NULL;
    switch (place.kind) {
    case AT_INPUT:
    case AT_OUTPUT:
        if (places->ops)
            base = address_of(
                gpu, at,
                slot_address(operand_slot(gpu, places->ops[place.op], place.kind, place.index), 0));
        else
            base = address_of(gpu, at, place.kind == AT_INPUT ? places->from : places->to);
        break;
    case AT_WORKSPACE:
        base = gpu->memory + gpu->schedule.instr[at].scratch + places->workspace[place.index];
        break;
    case AT_TABLE:
        base = gpu->table_memory + places->table[place.index];
        break;
    case AT_FAULT:
        base = (char *)&gpu->fault[at];
        break;
    }
    return base + place.offset_bytes;
}

/* ---- kernels and products ---- */

static uint64_t word_bits(const GpuRank *gpu, int at, const WorkPlaces *places,
                          const DeviceWord *word)
{
    uint64_t bits = (uint64_t)word->i64;
    if (word->kind == WORD_PLACE)
        bits = (uint64_t)(uintptr_t)place_of(gpu, at, places, word->place);
    if (word->kind == WORD_F64)
        memcpy(&bits, &word->f64, sizeof bits);
    return bits;
}

enum { SHARED_BYTES_PLAIN = 48 << 10 }; /* above this cudaFuncSetAttribute() is needed */

static bool resolve_launch(GpuRank *gpu, int at, GpuAction *action, Error *err)
{
    const DeviceLaunch *launch = &action->item->launch;
    Launch *out = &action->launch;
    if (!kernels_get(gpu->team->kernels, gpu->device->arch, device_text(gpu->texts, launch->text),
                     launch->name, &out->kernel, err))
        return false;
    out->grid =
        (dim3){(unsigned)launch->grid[0], (unsigned)launch->grid[1], (unsigned)launch->grid[2]};
    out->block =
        (dim3){(unsigned)launch->block[0], (unsigned)launch->block[1], (unsigned)launch->block[2]};
    out->shared_bytes = (size_t)launch->shared_bytes;
    out->words = arena_array(gpu->arena, uint64_t, launch->n_words);
    for (int w = 0; w < launch->n_words; w++)
        out->words[w] = word_bits(gpu, at, action->places, &launch->word[w]);
    return out->shared_bytes <= SHARED_BYTES_PLAIN ||
           CUDA_CALL(err, cudaFuncSetAttribute, out->kernel,
                     cudaFuncAttributeMaxDynamicSharedMemorySize, (int)out->shared_bytes);
}

static bool resolve_product(GpuRank *gpu, int at, GpuAction *action, Error *err)
{
    const DeviceMatmul *matmul = &action->item->matmul;
    ProductUse use = {.arch = gpu->device->arch, .workspace = gpu->blas_workspace};
    use.a = place_of(gpu, at, action->places, matmul->a);
    use.b = place_of(gpu, at, action->places, matmul->b);
    use.out = place_of(gpu, at, action->places, matmul->out);
    use.bias = matmul->has_bias ? place_of(gpu, at, action->places, matmul->bias) : NULL;
    use.by_time = !gpu->rank->team->options->deterministic;
    use.stream = gpu->stream[LANE_COMPUTE];
    return product_open(&gpu->blas, matmul, &use, &action->product, err);
}

static bool resolve(GpuRank *gpu, int at, GpuAction *action, Error *err)
{
    if (action->kind == ACT_LAUNCH)
        return resolve_launch(gpu, at, action, err);
    if (action->kind == ACT_PRODUCT)
        return resolve_product(gpu, at, action, err);
    if (action->item) {
        action->at_to = place_of(gpu, at, action->places, action->item->to);
        if (action->kind == ACT_COPY)
            action->at_from = place_of(gpu, at, action->places, action->item->from);
        return true;
    }
    if (action->kind != ACT_COPY && action->kind != ACT_ZERO && action->kind < ACT_SEND)
        return true;
    action->at_to = address_of(gpu, at, action->to);
    action->at_from = address_of(gpu, at, action->from);
    if (action->kind >= ACT_SEND)
        action->comm = action->group < 0 ? gpu->comm : gpu->group_comm[action->group];
    return true;
}

bool actions_resolve(GpuRank *gpu, Error *err)
{
    for (int at = 0; at < gpu_program(gpu)->n_instrs; at++)
        for (int i = 0; i < gpu->actions[at].n; i++) {
            Error inner = {.kind = ERROR_RUN};
            if (!resolve(gpu, at, &gpu->actions[at].at[i], &inner))
                return instr_blame(gpu, at, &inner, err);
        }
    return true;
}

void actions_close(GpuRank *gpu)
{
    for (int at = 0; gpu->actions && at < gpu_program(gpu)->n_instrs; at++)
        for (int i = 0; i < gpu->actions[at].n; i++)
            if (gpu->actions[at].at[i].kind == ACT_PRODUCT)
                product_close(&gpu->actions[at].at[i].product);
}
