/* A fake NCCL: cliques of communicators, whose collectives run when all ranks have arrived.
 *
 * A rank's call is an op of its stream that waits for one joint op, which waits for the previous
 * work of each rank's stream. Sums run from rank 0 up, so that they are deterministic.
 */
#include "tests/fakecuda/fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = DEVICES_MAX, GROUP_MAX = 4096 };

typedef enum { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, SEND, RECEIVE } What;

static const char *const what_names[] = {
    "an all-reduce", "a reduce-scatter", "an all-gather", "a broadcast", "a send", "a receive",
};

typedef struct Clique Clique;

struct ncclComm {
    Object object;
    Clique *clique;
    int rank, device;
    pthread_t maker;
    int64_t n_calls; /* collectives called */
    int64_t n_sent[RANKS_MAX], n_received[RANKS_MAX];
    ncclResult_t async_error;
    bool aborted;
};

typedef struct {
    ncclComm_t comm;
    What what;
    const char *from;
    char *to;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t reduce;
    int peer; /* root, or peer */
} Call;

/* A collective or a message, with the calls of its ranks. */
typedef struct Meeting Meeting;
struct Meeting {
    Meeting *next;
    Clique *clique;
    int64_t number;
    int from, to; /* of a message; -1: of all ranks */
    int n_ranks;
    int n_slots, n_here; /* one per rank; for a message sender and receiver */
    bool here[RANKS_MAX];
    Call call[RANKS_MAX];
    Op *leave[RANKS_MAX];
    Op *joint;
    bool missing; /* a rank never arrives */
    bool gone;    /* a rank arrived and left */
};

struct Clique {
    Clique *next;
    char id[128];
    int n_ranks, n_members;
    ncclComm_t member[RANKS_MAX];
    bool joined[RANKS_MAX], refused;
    Meeting *meetings;
};

static Clique *cliques;
static int64_t n_ids;

typedef struct {
    Call call;
    Stream *stream;
} Wanted;

static _Thread_local struct {
    int depth, n, n_joining;
    Wanted wanted[GROUP_MAX];
    ncclComm_t *joining[RANKS_MAX];
} group;

/* ---- executing a meeting ---- */

static size_t sent_bytes(const Call *call, int n_ranks)
{
    size_t n = call->count * nccl_type_bytes(call->type);
    return call->what == REDUCE_SCATTER ? n * (size_t)n_ranks : n;
}

static size_t got_bytes(const Call *call, int n_ranks)
{
    size_t n = call->count * nccl_type_bytes(call->type);
    return call->what == ALL_GATHER ? n * (size_t)n_ranks : n;
}

static bool sends(const Call *call)
{
    return call->what != RECEIVE && (call->what != BROADCAST || call->comm->rank == call->peer);
}

static bool reach_all(const Meeting *m)
{
    for (int i = 0; i < m->n_slots; i++) {
        const Call *call = &m->call[i];
        const char *who = what_names[call->what];
        int device = call->comm->device;
        if (sends(call) && !memory_reach(device, call->from, sent_bytes(call, m->n_ranks), who))
            return false;
        if (call->what != SEND && !memory_reach(device, call->to, got_bytes(call, m->n_ranks), who))
            return false;
    }
    return true;
}

/* Collects all inputs before writing, since buffers may be shared. */
static void run_collective(const Meeting *m)
{
    const Call *first = &m->call[0];
    size_t n_sent = sent_bytes(first, m->n_ranks), n_got = got_bytes(first, m->n_ranks);
    char *all = malloc(n_sent * (size_t)m->n_ranks + 1);
    for (int i = 0; i < m->n_ranks; i++) {
        if (sends(&m->call[i]))
            memcpy(all + (size_t)i * n_sent, m->call[i].from, n_sent);
    }
    bool reduces = first->what == ALL_REDUCE || first->what == REDUCE_SCATTER;
    size_t n = n_sent / nccl_type_bytes(first->type);
    for (int i = 1; reduces && i < m->n_ranks; i++)
        numbers_reduce(first->type, first->reduce, all, all + (size_t)i * n_sent, n);
    if (reduces && first->reduce == ncclAvg)
        numbers_divide(first->type, all, n, m->n_ranks);
    for (int i = 0; i < m->n_ranks; i++) {
        size_t from = first->what == REDUCE_SCATTER ? (size_t)i * n_got
                      : first->what == BROADCAST    ? (size_t)first->peer * n_got
                                                    : 0;
        memcpy(m->call[i].to, all + from, n_got);
    }
    free(all);
}

static void meeting_free(Meeting *m)
{
    for (Meeting **at = &m->clique->meetings; *at; at = &(*at)->next) {
        if (*at == m) {
            *at = m->next;
            break;
        }
    }
    for (int i = 0; i < RANKS_MAX; i++)
        op_drop(m->leave[i]);
    m->joint->run = NULL; /* unfinished ones become no-ops */
    op_drop(m->joint);
    free(m);
}

static bool anyone_gone(const Meeting *m)
{
    bool gone = m->gone;
    for (int i = 0; !gone && i < m->n_slots; i++)
        gone = fake.device[m->call[i].comm->device].failed;
    return gone;
}

/* When a rank's device has failed, or it has left, the others wait. */
static void run_meeting(Op *op)
{
    Meeting *m = *(Meeting **)op->data;
    op->stuck = anyone_gone(m) || !reach_all(m);
    if (op->stuck)
        return;
    if (m->from < 0)
        run_collective(m);
    else
        memmove(m->call[1].to, m->call[0].from, sent_bytes(&m->call[0], m->n_ranks));
    meeting_free(m);
}

/* ---- arriving at a meeting ---- */

static Meeting *meeting_of(Clique *clique, int from, int to, int64_t number)
{
    for (Meeting *m = clique->meetings; m; m = m->next) {
        if (m->from == from && m->to == to && m->number == number)
            return m;
    }
    Meeting *m = calloc(1, sizeof *m);
    *m = (Meeting){.next = clique->meetings, .clique = clique, .number = number};
    m->from = from;
    m->to = to;
    m->n_ranks = clique->n_ranks;
    m->n_slots = from < 0 ? clique->n_ranks : 2;
    m->joint = op_new(run_meeting, &m, sizeof m, NO_DEVICE, LANE_NONE);
    m->joint->n_waiting += m->n_slots;
    m->missing = ++fake.count.collectives == fake.fault.hang;
    clique->meetings = m;
    op_submit(op_keep(m->joint));
    return m;
}

static bool same_call(const Call *a, const Call *b)
{
    if (a->what == SEND || a->what == RECEIVE)
        return a->count == b->count && a->type == b->type;
    return a->what == b->what && a->count == b->count && a->type == b->type &&
           a->reduce == b->reduce && a->peer == b->peer;
}

/* Ranks with different calls hang forever and get an error. */
static void compare(Meeting *m, int slot)
{
    const Call *mine = &m->call[slot];
    for (int i = 0; i < m->n_slots; i++) {
        const Call *other = &m->call[i];
        if (i == slot || m->gone || !m->here[i] || same_call(other, mine))
            continue;
        fake_say("rank %d comes to %s of %zu, rank %d to %s of %zu", other->comm->rank,
                 what_names[other->what], other->count, mine->comm->rank, what_names[mine->what],
                 mine->count);
        m->missing = true;
        for (int r = 0; r < m->n_ranks; r++) {
            if (m->clique->member[r])
                m->clique->member[r]->async_error = ncclInvalidUsage;
        }
        return;
    }
}

/* The rank's op has entered the queue: the joint op inherits its predecessors. */
static void come(Op *op)
{
    Call *call = op->data;
    ncclComm_t comm = call->comm;
    if (!object_is(comm, OBJECT_COMM)) {
        fake_say("%s of a communicator that was destroyed", what_names[call->what]);
        device_fail(op->device, cudaErrorIllegalAddress);
        return;
    }
    bool message = call->what == SEND || call->what == RECEIVE;
    int from = !message ? -1 : call->what == SEND ? comm->rank : call->peer;
    int to = !message ? -1 : call->what == SEND ? call->peer : comm->rank;
    int64_t number = !message             ? comm->n_calls++
                     : call->what == SEND ? comm->n_sent[to]++
                                          : comm->n_received[from]++;
    Meeting *m = meeting_of(comm->clique, from, to, number);
    int slot = message ? call->what == RECEIVE : comm->rank;
    m->call[slot] = *call;
    m->here[slot] = true;
    m->leave[slot] = op_keep(op);
    m->n_here++;
    compare(m, slot);
    for (int i = 0; i < op->n_before; i++)
        op_after(m->joint, op->before[i]);
    op_after(op, m->joint);
    if (!m->missing || m->n_here < m->n_slots)
        op_release(m->joint);
}

static ncclResult_t call_fault(const Call *call, const Stream *stream)
{
    if (!call->comm || !object_is(call->comm, OBJECT_COMM) || !stream)
        return ncclInvalidArgument;
    const struct ncclComm *comm = call->comm;
    if (!nccl_type_bytes(call->type) || call->reduce > ncclAvg || call->peer < 0 ||
        call->peer >= comm->clique->n_ranks || comm->aborted)
        return ncclInvalidArgument;
    if (stream->device != comm->device)
        return ncclInvalidUsage;
    return fake.device[comm->device].failed ? ncclUnhandledCudaError : ncclSuccess;
}

/* Several ranks of one thread need a group, or the first call would wait forever. */
static bool alone_in_thread(const struct ncclComm *comm)
{
    for (int i = 0; i < comm->clique->n_ranks; i++) {
        const struct ncclComm *other = comm->clique->member[i];
        if (other && other != comm && pthread_equal(other->maker, comm->maker))
            return false;
    }
    return true;
}

/* Messages of a rank in one group are concurrent; all else is in call order. */
static void put_group(void)
{
    for (int i = 0; i < group.n; i++) {
        Wanted *first = &group.wanted[i];
        if (!first->stream)
            continue;
        if (first->call.what != SEND && first->call.what != RECEIVE) {
            stream_put(first->stream, NULL, come, &first->call, sizeof first->call);
            continue;
        }
        Fork fork = stream_fork(first->stream);
        for (int j = i; j < group.n; j++) {
            Wanted *w = &group.wanted[j];
            if (w->stream != fork.stream || (w->call.what != SEND && w->call.what != RECEIVE) ||
                w->call.comm != first->call.comm)
                continue;
            fork_put(&fork, NULL, come, &w->call, sizeof w->call);
            w->stream = NULL;
        }
        stream_join(&fork);
    }
    group.n = 0;
}

static ncclResult_t leave(ncclResult_t result)
{
    fake_unlock();
    return result;
}

static ncclResult_t want(Call call, cudaStream_t handle)
{
    if (fake_enter())
        return leave(ncclUnhandledCudaError);
    Stream *stream = handle                              ? stream_of(handle)
                     : object_is(call.comm, OBJECT_COMM) ? fake.device[call.comm->device].standard
                                                         : NULL;
    ncclResult_t fault = call_fault(&call, stream);
    if (fault)
        return leave(fault);
    if (!group.depth && !alone_in_thread(call.comm)) {
        fake_say("%s of one of several ranks of a thread, without a group", what_names[call.what]);
        return leave(ncclInvalidUsage);
    }
    if (group.n == GROUP_MAX)
        return leave(ncclInternalError);
    group.wanted[group.n++] = (Wanted){call, stream};
    if (!group.depth)
        put_group();
    return leave(ncclSuccess);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t reduce, ncclComm_t comm, cudaStream_t stream)
{
    return want((Call){comm, ALL_REDUCE, from, to, count, type, reduce, 0}, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t reduce, ncclComm_t comm, cudaStream_t stream)
{
    return want((Call){comm, REDUCE_SCATTER, from, to, count, type, reduce, 0}, stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return want((Call){comm, ALL_GATHER, from, to, count, type, ncclSum, 0}, stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    return want((Call){comm, BROADCAST, from, to, count, type, ncclSum, root}, stream);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return want((Call){comm, SEND, from, NULL, count, type, ncclSum, peer}, stream);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return want((Call){comm, RECEIVE, NULL, to, count, type, ncclSum, peer}, stream);
}

/* ---- communicators */

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const words[] = {
        "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
        "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress",
    };
    return result < sizeof words / sizeof *words ? words[result] : "NCCL error";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return fakecuda_message();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
    fake_lock();
    memset(out, 0, sizeof *out);
    snprintf(out->internal, sizeof out->internal, "fakecuda %lld", (long long)++n_ids);
    return leave(ncclSuccess);
}

static Clique *clique_of(const ncclUniqueId *id, int n_ranks)
{
    for (Clique *c = cliques; c; c = c->next) {
        if (!memcmp(c->id, id->internal, sizeof c->id))
            return c;
    }
    Clique *c = calloc(1, sizeof *c);
    *c = (Clique){.next = cliques, .n_ranks = n_ranks};
    memcpy(c->id, id->internal, sizeof c->id);
    cliques = c;
    return c;
}

static void clique_free(Clique *clique)
{
    for (Clique **at = &cliques; *at; at = &(*at)->next) {
        if (*at == clique) {
            *at = clique->next;
            break;
        }
    }
    while (clique->meetings)
        meeting_free(clique->meetings);
    free(clique);
}

/* Its own ops stop waiting; those of others do not. */
static void leave_meetings(ncclComm_t comm)
{
    for (Meeting *m = comm->clique->meetings; m; m = m->next) {
        for (int i = 0; i < m->n_slots; i++) {
            if (m->here[i] && m->call[i].comm == comm)
                op_detach(m->leave[i], m->joint), m->gone = true;
        }
    }
}

static int count_joined(const Clique *clique)
{
    int n = 0;
    for (int i = 0; i < clique->n_ranks; i++)
        n += clique->joined[i];
    return n;
}

/* A refused clique stays until the last rank has been told. */
static void comm_empty(void *object)
{
    ncclComm_t comm = object;
    Clique *clique = comm->clique;
    clique->member[comm->rank] = NULL;
    bool awaited = clique->refused && count_joined(clique) < clique->n_ranks;
    if (--clique->n_members == 0 && !awaited)
        clique_free(clique);
}

/* Adds a rank to its clique; the communicator is usable once all have joined. */
static ncclResult_t join(ncclComm_t *out, Clique *clique, int n_ranks, int rank, int device)
{
    if (clique->n_ranks != n_ranks || clique->joined[rank])
        return ncclInvalidUsage;
    for (int i = 0; i < n_ranks; i++) {
        if (clique->member[i] && clique->member[i]->device == device) {
            fake_say("ranks %d and %d are both on device %d", i, rank, device);
            clique->refused = true;
        }
    }
    ncclComm_t comm = object_new(OBJECT_COMM, sizeof *comm, comm_empty);
    comm->clique = clique;
    comm->rank = rank;
    comm->device = device;
    comm->maker = pthread_self();
    clique->joined[rank] = true;
    clique->member[rank] = comm;
    clique->n_members++;
    *out = comm;
    queue_changed();
    return ncclSuccess;
}

/* Waits until all ranks have joined. */
static ncclResult_t await(ncclComm_t *out)
{
    Clique *clique = (*out)->clique;
    for (;;) {
        if (clique->refused || count_joined(clique) == clique->n_ranks)
            break;
        fake_wait();
    }
    if (!clique->refused)
        return ncclSuccess;
    object_free(*out);
    *out = NULL;
    return ncclInvalidUsage;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int n_ranks, ncclUniqueId id, int rank)
{
    if (fake_enter())
        return leave(ncclUnhandledCudaError);
    if (!out || n_ranks < 1 || n_ranks > RANKS_MAX || rank < 0 || rank >= n_ranks)
        return leave(ncclInvalidArgument);
    Clique *clique = clique_of(&id, n_ranks);
    ncclResult_t result = join(out, clique, n_ranks, rank, fake_current_device());
    if (result)
        return leave(result);
    if (!group.depth)
        return leave(await(out));
    group.joining[group.n_joining++] = out;
    return leave(ncclSuccess);
}

ncclResult_t ncclCommInitAll(ncclComm_t *out, int n, const int *devices)
{
    ncclUniqueId id;
    if (!out || n < 1 || n > RANKS_MAX)
        return ncclInvalidArgument;
    ncclGetUniqueId(&id);
    if (fake_enter())
        return leave(ncclUnhandledCudaError);
    for (int i = 0; i < n; i++) {
        int device = devices ? devices[i] : i;
        if (device < 0 || device >= fake.n_devices)
            return leave(ncclInvalidArgument);
    }
    Clique *clique = clique_of(&id, n);
    for (int i = 0; i < n; i++)
        join(&out[i], clique, n, i, devices ? devices[i] : i);
    bool refused = clique->refused;
    for (int i = 0; refused && i < n; i++) {
        object_free(out[i]);
        out[i] = NULL;
    }
    return leave(refused ? ncclInvalidUsage : ncclSuccess);
}

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (!group.depth)
        return ncclInvalidUsage;
    if (--group.depth)
        return ncclSuccess;
    fake_lock();
    ncclResult_t result = ncclSuccess;
    for (int i = 0; i < group.n_joining; i++) {
        ncclResult_t one = await(group.joining[i]);
        result = result ? result : one;
    }
    group.n_joining = 0;
    put_group();
    return leave(result);
}

static ncclComm_t enter_comm(const struct ncclComm *comm)
{
    fake_lock();
    return comm && object_is(comm, OBJECT_COMM) ? (ncclComm_t)(uintptr_t)comm : NULL;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle)
{
    ncclComm_t comm = enter_comm(handle);
    if (!comm)
        return leave(ncclInvalidArgument);
    if (!comm->aborted)
        device_finish(comm->device);
    leave_meetings(comm);
    object_free(comm);
    return leave(ncclSuccess);
}

ncclResult_t ncclCommAbort(ncclComm_t handle)
{
    ncclComm_t comm = enter_comm(handle);
    if (!comm)
        return leave(ncclInvalidArgument);
    comm->aborted = true;
    leave_meetings(comm);
    queue_changed();
    object_free(comm);
    return leave(ncclSuccess);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *out)
{
    ncclComm_t comm = enter_comm(handle);
    if (!comm || !out)
        return leave(ncclInvalidArgument);
    *out = fake.device[comm->device].failed ? ncclUnhandledCudaError : comm->async_error;
    return leave(ncclSuccess);
}

ncclResult_t ncclCommCount(const ncclComm_t handle, int *count)
{
    const struct ncclComm *comm = enter_comm(handle);
    if (!comm || !count)
        return leave(ncclInvalidArgument);
    *count = comm->clique->n_ranks;
    return leave(ncclSuccess);
}

ncclResult_t ncclCommUserRank(const ncclComm_t handle, int *rank)
{
    const struct ncclComm *comm = enter_comm(handle);
    if (!comm || !rank)
        return leave(ncclInvalidArgument);
    *rank = comm->rank;
    return leave(ncclSuccess);
}

void nccl_clear(void)
{
    for (Object *o = object_first(), *next; o; o = next) {
        next = o->next;
        if (o->kind == OBJECT_COMM)
            object_free(o);
    }
    while (cliques)
        clique_free(cliques);
    group.depth = group.n = group.n_joining = 0;
}
