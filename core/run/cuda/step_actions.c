#include "core/run/cuda/gpu.h"

#include "core/run/exchange.h"

/* One rank's part in a step. */
typedef struct {
    GpuRank *gpu;
    int at;
    const Instr *instr;
    Exchange exchange;
    SubMesh makers, readers;
    Local *from, *to; /* of this rank; NULL: none */
    Dtype dtype;
    int64_t n_bytes;   /* bytes per element */
    Address *sent;     /* per send: address of its packed message */
    Address *received; /* per receive */
} StepMaker;

static void add(StepMaker *m, GpuAction action)
{
    if (action.kind != ACT_ALL_REDUCE && action.kind != ACT_ALL_GATHER &&
        action.kind != ACT_REDUCE_SCATTER)
        action.group = -1;
    vec_push(m->gpu->arena, &m->gpu->actions[m->at], action);
}

/* ---- between parts and messages ---- */

static bool cannot(const StepMaker *m, Error *err)
{
    return error_kind(err, ERROR_RUN, "elements of type %s cannot be combined on the device",
                      dtype_name(m->dtype));
}

static Address beyond(Address address, int64_t n_elements, const StepMaker *m)
{
    address.offset_bytes += n_elements * m->n_bytes;
    return address;
}

/* Packs a piece of the part at `from`, possibly of another rank. */
static bool add_pack(StepMaker *m, const Piece *piece, Address to, Address from, Error *err)
{
    GpuRank *gpu = m->gpu;
    DeviceWork *work = arena_make(gpu->arena, DeviceWork);
    const DevicePlace part = {.kind = AT_INPUT}, message = {.kind = AT_OUTPUT};
    if (!device_pack(gpu->arena, gpu->texts, m->dtype, piece, part, message, work))
        return cannot(m, err);
    add_work(gpu, m->at, work, &(WorkPlaces){.to = to, .from = from});
    return true;
}

/* Puts a message into the target. */
static bool add_unpack(StepMaker *m, const Message *receive, Address from, Error *err)
{
    GpuRank *gpu = m->gpu;
    ReduceOp reduce = receive->use == PART_COPIED ? REDUCE_NONE : m->exchange.roles.reduce;
    DeviceWork *work = arena_make(gpu->arena, DeviceWork);
    const DevicePlace message = {.kind = AT_INPUT}, part = {.kind = AT_OUTPUT};
    int64_t n, step;
    exchange_repeats(&m->exchange, receive, &m->to->shape, &n, &step);
    if (!device_unpack(gpu->arena, gpu->texts, m->dtype, &receive->piece, reduce, message, part,
                       work))
        return cannot(m, err);
    for (int64_t i = 0; i < n; i++) {
        Address to = beyond(slot_address(m->instr->slot, 0), i * step, m);
        add_work(gpu, m->at, work, &(WorkPlaces){.to = to, .from = from});
    }
    return true;
}

static int64_t message_bytes(const StepMaker *m, const Message *message)
{
    return message->piece.n_elements * m->n_bytes;
}

static bool is_own(const StepMaker *m, const Message *message)
{
    return message->position == m->exchange.position;
}

/* Whether a message is contiguous in the target. */
static bool is_in_place(const Message *receive)
{
    return receive->use == PART_COPIED && piece_is_contiguous(&receive->piece);
}

/* Copies the piece `send` of a readable part, directly or through a message. */
static bool add_read(StepMaker *m, const Message *receive, const Piece *send, Address part,
                     Error *err)
{
    if (piece_is_contiguous(send))
        return add_unpack(m, receive, beyond(part, send->first, m), err);
    if (is_in_place(receive)) {
        Address to = slot_address(m->instr->slot, 0);
        return add_pack(m, send, beyond(to, receive->piece.first, m), part, err);
    }
    Address message = scratch_address(m->gpu, m->at, message_bytes(m, receive));
    return add_pack(m, send, message, part, err) && add_unpack(m, receive, message, err);
}

static const Piece *send_to(const Exchange *exchange, int64_t position)
{
    for (int i = 0; i < exchange->n_sends; i++)
        if (exchange->send[i].position == position)
            return &exchange->send[i].piece;
    return NULL;
}

/* The piece that a member sends to this rank, in the member's part. */
static bool find_send(StepMaker *m, int64_t member, const Piece **out, Error *err)
{
    const Exchange *own = &m->exchange;
    Exchange *theirs = arena_make(m->gpu->arena, Exchange);
    if (member == own->position)
        *theirs = *own;
    else if (!exchange_make(m->gpu->arena, &own->collective, m->makers, m->readers, member, theirs,
                            err))
        return false;
    *out = send_to(theirs, own->position);
    return *out || error_kind(err, ERROR_RUN, "rank %lld sends nothing", (long long)member);
}

static void add_zeros(StepMaker *m)
{
    Address to = slot_address(m->instr->slot, 0);
    add(m,
        (GpuAction){.kind = ACT_ZERO, .to = to, .from = to, .n_bytes = (size_t)local_bytes(m->to)});
}

/* Does what collective_finish() does on the host. */
static bool add_finish(StepMaker *m, Error *err)
{
    const Exchange *x = &m->exchange;
    GpuRank *gpu = m->gpu;
    Address to = slot_address(m->instr->slot, 0);
    if (collective_is_blank(&x->collective, &x->roles, x->position))
        add_zeros(m);
    if (x->roles.reduce != REDUCE_AVG)
        return true;
    double factor = 1.0 / (double)mesh_atoms_size(x->collective.mesh, x->roles.summed);
    DeviceWork *work = arena_make(gpu->arena, DeviceWork);
    if (!device_scale(gpu->arena, gpu->texts, m->dtype, shape_elements(&m->to->shape), factor,
                      (DevicePlace){.kind = AT_OUTPUT}, work))
        return cannot(m, err);
    add_work(gpu, m->at, work, &(WorkPlaces){.to = to, .from = to});
    return true;
}

/* ---- ranks that read each other's memory ---- */

static bool add_reads(StepMaker *m, Error *err)
{
    const Exchange *x = &m->exchange;
    for (int i = 0; i < x->n_receives; i++) {
        const Message *receive = &x->receive[i];
        const Piece *send;
        Address part = slot_address(m->instr->from, 0);
        if (!is_own(m, receive)) {
            part.kind = ADDRESS_PEER;
            part.peer = receive->position;
        }
        if (!find_send(m, receive->position, &send, err) || !add_read(m, receive, send, part, err))
            return false;
    }
    return !m->to || add_finish(m, err);
}

static void add_awaits(StepMaker *m, const Message *messages, int n, bool taken)
{
    for (int i = 0; i < n; i++)
        if (!is_own(m, &messages[i]))
            add(m, (GpuAction){.kind = ACT_AWAIT, .peer = messages[i].position, .taken = taken});
}

static bool make_shared(StepMaker *m, Error *err)
{
    add(m, (GpuAction){.kind = ACT_OFFER});
    add_awaits(m, m->exchange.receive, m->exchange.n_receives, false);
    if (!add_reads(m, err))
        return false;
    add(m, (GpuAction){.kind = ACT_TAKEN});
    add_awaits(m, m->exchange.send, m->exchange.n_sends, true);
    return true;
}

/* ---- ranks that send ---- */

static bool pack_sends(StepMaker *m, Error *err)
{
    const Exchange *x = &m->exchange;
    m->sent = arena_array(m->gpu->arena, Address, x->n_sends);
    for (int i = 0; i < x->n_sends; i++) {
        const Message *send = &x->send[i];
        m->sent[i] = beyond(slot_address(m->instr->from, 0), send->piece.first, m);
        if (is_own(m, send) || piece_is_contiguous(&send->piece))
            continue;
        m->sent[i] = scratch_address(m->gpu, m->at, message_bytes(m, send));
        if (!add_pack(m, &send->piece, m->sent[i], slot_address(m->instr->from, 0), err))
            return false;
    }
    return true;
}

static void place_receives(StepMaker *m)
{
    const Exchange *x = &m->exchange;
    m->received = arena_array(m->gpu->arena, Address, x->n_receives);
    for (int i = 0; i < x->n_receives; i++) {
        const Message *receive = &x->receive[i];
        if (is_in_place(receive))
            m->received[i] = beyond(slot_address(m->instr->slot, 0), receive->piece.first, m);
        else if (!is_own(m, receive))
            m->received[i] = scratch_address(m->gpu, m->at, message_bytes(m, receive));
    }
}

static void add_messages(StepMaker *m, ActionKind kind, const Message *messages, int n,
                         const Address *address)
{
    for (int i = 0; i < n; i++)
        if (!is_own(m, &messages[i]))
            add(m, (GpuAction){.kind = kind,
                               .from = address[i],
                               .to = address[i],
                               .n_bytes = (size_t)message_bytes(m, &messages[i]),
                               .peer = messages[i].position});
}

static bool unpack_received(StepMaker *m, Error *err)
{
    const Exchange *x = &m->exchange;
    for (int i = 0; i < x->n_receives; i++) {
        const Message *receive = &x->receive[i];
        const Piece *send;
        bool own = is_own(m, receive);
        if (own && (!find_send(m, receive->position, &send, err) ||
                    !add_read(m, receive, send, slot_address(m->instr->from, 0), err)))
            return false;
        if (!own && !is_in_place(receive) && !add_unpack(m, receive, m->received[i], err))
            return false;
    }
    return !m->to || add_finish(m, err);
}

static bool make_sent(StepMaker *m, Error *err)
{
    if (!pack_sends(m, err))
        return false;
    place_receives(m);
    add(m, (GpuAction){.kind = ACT_GROUP_START});
    add_messages(m, ACT_SEND, m->exchange.send, m->exchange.n_sends, m->sent);
    add_messages(m, ACT_RECEIVE, m->exchange.receive, m->exchange.n_receives, m->received);
    add(m, (GpuAction){.kind = ACT_GROUP_END});
    return unpack_received(m, err);
}

/* ---- collectives that NCCL has ---- */

static bool nccl_type(Dtype dtype, ncclDataType_t *out)
{
    static const struct {
        bool known;
        ncclDataType_t type;
    } types[DT_COUNT] = {
        [DT_F32] = {true, ncclFloat32}, [DT_F64] = {true, ncclFloat64},
        [DT_F16] = {true, ncclFloat16}, [DT_BF16] = {true, ncclBfloat16},
        [DT_I8] = {true, ncclInt8},     [DT_U8] = {true, ncclUint8},
        [DT_I32] = {true, ncclInt32},   [DT_U32] = {true, ncclUint32},
        [DT_I64] = {true, ncclInt64},   [DT_U64] = {true, ncclUint64},
    };
    *out = types[dtype].type;
    return types[dtype].known;
}

static bool nccl_reduce(ReduceOp reduce, ncclRedOp_t *out)
{
    *out = reduce == REDUCE_PROD  ? ncclProd
           : reduce == REDUCE_MAX ? ncclMax
           : reduce == REDUCE_MIN ? ncclMin
                                  : ncclSum;
    return reduce == REDUCE_SUM || *out != ncclSum;
}

/* Whether all ranks have equal part shapes, so that all of them choose the same collective. */
static bool is_even(const StepMaker *m, const Sharding *sharding, const Local *own)
{
    Arena *scratch = arena_new();
    const Mesh *mesh = m->exchange.collective.mesh;
    bool even = true;
    for (int64_t p = 0; even && p < mesh->n_devices; p++)
        for (int d = 0; even && d < own->shape.n_dims; d++)
            even = cut_runs(scratch, &sharding->dim[d], mesh, p).local_size == own->shape.dim[d];
    arena_free(scratch);
    return even;
}

/* Whether all members send and receive the same amount. */
static bool is_full(const StepMaker *m, int64_t n_members)
{
    const Exchange *x = &m->exchange;
    if (x->n_sends != n_members || x->n_receives != n_members)
        return false;
    for (int i = 0; i < x->n_sends; i++)
        if (x->send[i].piece.n_elements != x->send[0].piece.n_elements ||
            x->receive[i].piece.n_elements != x->send[0].piece.n_elements)
            return false;
    return true;
}

/* The NCCL collective for the step; steps without one are sends. */
static bool nccl_action(StepMaker *m, GpuAction *out)
{
    const Exchange *x = &m->exchange;
    const RunOptions *options = m->gpu->rank->team->options;
    StepKind step = m->instr->step->kind;
    int64_t n = mesh_atoms_size(x->collective.mesh, x->collective.atoms);
    out->group = comm_group(m->gpu->team, x->collective.atoms);
    if (out->group < 0 || !m->from || !m->to || !is_full(m, n) ||
        !is_even(m, x->collective.from, m->from) || !is_even(m, x->collective.to, m->to))
        return false;
    int64_t n_from = shape_elements(&m->from->shape), n_to = shape_elements(&m->to->shape);
    bool reduces = x->roles.summed == x->collective.atoms && !options->deterministic &&
                   nccl_reduce(x->roles.reduce, &out->reduce) && nccl_type(m->dtype, &out->type);
    if (step == STEP_ALL_REDUCE && reduces && n_from == n_to &&
        piece_is_contiguous(&x->send[0].piece) && piece_is_contiguous(&x->receive[0].piece))
        out->kind = ACT_ALL_REDUCE;
    else if (step == STEP_ALL_GATHER && x->roles.summed == 0 && n * n_from == n_to &&
             piece_is_contiguous(&x->send[0].piece))
        out->kind = ACT_ALL_GATHER;
    else if (step == STEP_REDUCE_SCATTER && reduces && n_from == n * n_to)
        out->kind = ACT_REDUCE_SCATTER;
    else
        return false;
    return true;
}

/* Whether messages are consecutive in a part, in group order. */
static bool in_order(const Message *messages, int n)
{
    for (int i = 0; i < n; i++)
        if (!piece_is_contiguous(&messages[i].piece) ||
            messages[i].piece.first != i * messages[0].piece.n_elements)
            return false;
    return true;
}

static bool make_gathered(StepMaker *m, GpuAction gather, Error *err)
{
    const Exchange *x = &m->exchange;
    int64_t n_bytes = local_bytes(m->from);
    bool in_place = in_order(x->receive, x->n_receives);
    if (!in_place)
        gather.to = scratch_address(m->gpu, m->at, n_bytes * x->n_receives);
    gather.n_bytes = (size_t)n_bytes;
    add(m, gather);
    for (int i = 0; i < x->n_receives && !in_place; i++)
        if (!add_unpack(m, &x->receive[i], beyond(gather.to, i * x->receive[i].piece.n_elements, m),
                        err))
            return false;
    return add_finish(m, err);
}

static bool make_scattered(StepMaker *m, GpuAction scatter, Error *err)
{
    const Exchange *x = &m->exchange;
    if (!in_order(x->send, x->n_sends)) {
        Address packed = scratch_address(m->gpu, m->at, local_bytes(m->to) * x->n_sends);
        for (int i = 0; i < x->n_sends; i++)
            if (!add_pack(m, &x->send[i].piece, beyond(packed, i * x->send[i].piece.n_elements, m),
                          scatter.from, err))
                return false;
        scatter.from = packed;
    }
    add(m, scatter);
    return add_finish(m, err);
}

/* ---- a step ---- */

static bool make(StepMaker *m, Error *err)
{
    GpuAction action = {.from = slot_address(m->instr->from, 0),
                        .to = slot_address(m->instr->slot, 0)};
    if (m->instr->step->atoms == 0)
        return add_reads(m, err);
    if (m->gpu->team->shared)
        return make_shared(m, err);
    if (!nccl_action(m, &action))
        return make_sent(m, err);
    if (action.kind == ACT_ALL_GATHER)
        return make_gathered(m, action, err);
    action.n_bytes = (size_t)shape_elements(&m->to->shape);
    if (action.kind == ACT_REDUCE_SCATTER)
        return make_scattered(m, action, err);
    add(m, action);
    return add_finish(m, err);
}

bool step_actions(GpuRank *gpu, int at, Error *err)
{
    const Program *program = gpu_program(gpu);
    const Plan *plan = gpu->rank->team->plan;
    const Instr *instr = &program->instrs[at];
    StepMaker m = {.gpu = gpu, .at = at, .instr = instr};
    m.makers = plan->decided->submeshes[program->slots[instr->from].devices];
    m.readers = plan->decided->submeshes[program->slots[instr->slot].devices];
    m.from = gpu->rank->slot[instr->from];
    m.to = gpu->rank->slot[instr->slot];
    m.dtype = (Dtype)plan->inferred->dtype[program->slots[instr->slot].tensor];
    m.n_bytes = element_bytes(m.dtype);
    Collective collective = {.mesh = plan->mesh, .atoms = instr->step->atoms};
    collective.from = shardings_at(plan->shardings, instr->step->from);
    collective.to = shardings_at(plan->shardings, instr->step->to);
    if (!exchange_make(gpu->arena, &collective, m.makers, m.readers, gpu->rank->position,
                       &m.exchange, err))
        return false;
    gpu->use[at].lane = instr->step->atoms ? LANE_COMM : LANE_COMPUTE;
    if (m.from)
        use_slot(gpu, at, instr->from, false);
    if (m.to)
        use_slot(gpu, at, instr->slot, true);
    if (m.to && m.exchange.roles.pads) {
        if (m.exchange.roles.reduce == REDUCE_PROD)
            return error_kind(err, ERROR_RUN, "running products of parts do not run on a GPU");
        add_zeros(&m);
    }
    return make(&m, err);
}
