/* fuzz_mpi.c - a rank whose messages from other ranks are torn, made up or lost: the run ends with
 * an error or with a report that holds together. MPI is a fake in this process: what others send is
 * what this rank sends itself, unless the input has other bytes for it, or an error.
 *
 * Bytes of the input, in order: which plan, which rank, options; then one for each message: whether
 * it is honest or fails, else what of it is changed, and to which bytes. Behind the input all are
 * honest.
 */
#include "core/layout/runs.h"
#include "core/plan/op_cut.h"
#include "core/run/mpi/world.h"
#include "core/run/plugin.h"
#include "tests/fuzz/tiny_gpt.h"

#define fail_msg(...) (fprintf(stderr, __VA_ARGS__), abort())
#include "tests/unit/graph_text.h"

#include <assert.h>

extern const Plugin dimscope_plugin;
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* ---- what is received ---- */

static struct {
    const uint8_t *at;
    size_t n;
} input;

static struct {
    int n, me;
} ranks;

static int take(void)
{
    if (input.n == 0)
        return 0;
    input.n--;
    return *input.at++;
}

/* A message is there with what it honestly has; returns what the call does. */
static int receive(void *to, size_t n_bytes)
{
    enum { FAILS = 32, CHANGES = 64 };
    int what = take();
    if (what >= CHANGES || what == 0)
        return MPI_SUCCESS;
    if (what < FAILS)
        return MPI_ERR_OTHER;
    size_t at = n_bytes > 0 ? (size_t)(take() << 8 | take()) % n_bytes : 0;
    for (int n = 1 + what % 9; n > 0 && at < n_bytes; n--)
        ((uint8_t *)to)[at++] = (uint8_t)take();
    return MPI_SUCCESS;
}

/* ---- types of elements ---- */

/* `n` of the inner type at places that are bytes apart. */
struct ompi_datatype_t {
    size_t size, extent;
    const struct ompi_datatype_t *inner;
    int n;
    MPI_Aint *at;
};
struct ompi_predefined_datatype_t {
    struct ompi_datatype_t type;
};

#define PREDEFINED(name, bytes)                                                                    \
    struct ompi_predefined_datatype_t ompi_mpi_##name = {{bytes, bytes, NULL, 0, NULL}};
PREDEFINED(datatype_null, 0)
PREDEFINED(byte, 1)
PREDEFINED(int, 4)
PREDEFINED(float, 4)
PREDEFINED(double, 8)
PREDEFINED(int8_t, 1)
PREDEFINED(uint8_t, 1)
PREDEFINED(int16_t, 2)
PREDEFINED(uint16_t, 2)
PREDEFINED(int32_t, 4)
PREDEFINED(uint32_t, 4)
PREDEFINED(int64_t, 8)
PREDEFINED(uint64_t, 8)

static MPI_Datatype make_type(const struct ompi_datatype_t *inner, int n)
{
    struct ompi_datatype_t *type = calloc(1, sizeof *type);
    type->size = inner->size * (size_t)n;
    type->extent = inner->extent;
    type->inner = inner;
    type->n = n;
    type->at = calloc((size_t)n + 1, sizeof *type->at);
    return type;
}

int MPI_Type_contiguous(int n, MPI_Datatype inner, MPI_Datatype *out)
{
    *out = make_type(inner, n);
    (*out)->extent = inner->extent * (size_t)n;
    for (int i = 0; i < n; i++)
        (*out)->at[i] = (MPI_Aint)inner->extent * i;
    return MPI_SUCCESS;
}

int MPI_Type_create_hvector(int n, int block, MPI_Aint stride, MPI_Datatype inner,
                            MPI_Datatype *out)
{
    assert(block == 1);
    *out = make_type(inner, n);
    for (int i = 0; i < n; i++)
        (*out)->at[i] = stride * i;
    return MPI_SUCCESS;
}

int MPI_Type_create_hindexed_block(int n, int block, const MPI_Aint at[], MPI_Datatype inner,
                                   MPI_Datatype *out)
{
    assert(block == 1);
    *out = make_type(inner, n);
    memcpy((*out)->at, at, (size_t)n * sizeof *at);
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    free((*type)->at);
    free(*type);
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* Elements of one buffer that lie in another as the type says. */
static void unpack(const struct ompi_datatype_t *type, const char **from, char *to)
{
    if (type->inner) {
        for (int i = 0; i < type->n; i++)
            unpack(type->inner, from, to + type->at[i]);
        return;
    }
    memcpy(to, *from, type->size);
    *from += type->size;
}

static int receive_typed(void *to, int n, const struct ompi_datatype_t *type)
{
    size_t n_bytes = type->size * (size_t)n;
    char *bytes = calloc(1, n_bytes + 1);
    const char *from = bytes;
    int code = receive(bytes, n_bytes);
    for (int i = 0; code == MPI_SUCCESS && i < n; i++)
        unpack(type, &from, (char *)to + type->extent * (size_t)i);
    free(bytes);
    return code;
}

/* ---- the calls ---- */

struct ompi_communicator_t {
    int n, me;
};
struct ompi_predefined_communicator_t {
    struct ompi_communicator_t comm;
};
struct ompi_group_t {
    int n, me;
};
struct ompi_predefined_op_t {
    int unused;
};
struct ompi_predefined_request_t {
    int unused;
};
struct ompi_predefined_errhandler_t {
    int unused;
};
struct ompi_predefined_communicator_t ompi_mpi_comm_world, ompi_mpi_comm_null;
struct ompi_predefined_op_t ompi_mpi_op_null, ompi_mpi_op_sum, ompi_mpi_op_prod, ompi_mpi_op_max,
    ompi_mpi_op_min;
struct ompi_predefined_request_t ompi_request_null;
struct ompi_predefined_errhandler_t ompi_mpi_errors_return;

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    (void)argc, (void)argv, (void)wanted;
    *got = MPI_THREAD_FUNNELED;
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    return *flag = 0;
}

int MPI_Finalize(void)
{
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm, (void)code;
    fail_msg("MPI_Abort\n");
}

int MPI_Error_string(int code, char *text, int *n)
{
    *n = snprintf(text, MPI_MAX_ERROR_STRING, "error %d", code);
    return MPI_SUCCESS;
}

static MPI_Comm make_comm(int n, int me)
{
    MPI_Comm comm = malloc(sizeof *comm);
    *comm = (struct ompi_communicator_t){n, me};
    return comm;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
    (void)comm;
    *out = make_comm(ranks.n, ranks.me);
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    free(*comm);
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *n)
{
    *n = comm->n;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = comm->me;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm, (void)handler;
    return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *out)
{
    *out = malloc(sizeof **out);
    **out = (struct ompi_group_t){comm->n, comm->me};
    return MPI_SUCCESS;
}

int MPI_Group_incl(MPI_Group group, int n, const int members[], MPI_Group *out)
{
    int me = 0;
    while (me < n && members[me] != group->me)
        me++;
    *out = malloc(sizeof **out);
    **out = (struct ompi_group_t){n, me};
    return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group *group)
{
    free(*group);
    return MPI_SUCCESS;
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out)
{
    (void)comm, (void)tag;
    *out = make_comm(group->n, group->me);
    return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int MPI_Type_set_name(MPI_Datatype type, const char *name)
{
    (void)type, (void)name;
    return MPI_SUCCESS;
}

int MPI_Type_get_name(MPI_Datatype type, char *name, int *n)
{
    (void)type, (void)name, (void)n;
    fail_msg("MPI_Type_get_name\n");
}

int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *out)
{
    (void)function, (void)commutes;
    *out = MPI_SUM;
    return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op *op)
{
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm)
{
    (void)comm;
    return receive(NULL, 0);
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    return root == comm->me ? MPI_SUCCESS : receive(data, (size_t)n * type->size);
}

int MPI_Allreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)op, (void)comm;
    if (mine != MPI_IN_PLACE)
        memcpy(all, mine, (size_t)n * type->size);
    return receive(all, (size_t)n * type->size);
}

int MPI_Reduce_scatter(const void *mine, void *part, const int n[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm)
{
    (void)op;
    memcpy(part, mine, (size_t)n[comm->me] * type->size);
    return receive(part, (size_t)n[comm->me] * type->size);
}

int MPI_Allgather(const void *mine, int n, MPI_Datatype type, void *all, int n_each,
                  MPI_Datatype each, MPI_Comm comm)
{
    size_t n_bytes = (size_t)n * type->size;
    (void)n_each, (void)each;
    for (int i = 0; i < comm->n; i++)
        memcpy((char *)all + n_bytes * (size_t)i, mine, n_bytes);
    return receive(all, n_bytes * (size_t)comm->n);
}

/* Blocks of other members are zeros, but for what the input has. */
static int receive_blocks(const void *mine, void *all, const int n[], const int at[], size_t size,
                          const struct ompi_communicator_t *comm)
{
    int code = MPI_SUCCESS;
    for (int i = 0; code == MPI_SUCCESS && i < comm->n; i++) {
        char *to = (char *)all + size * (size_t)at[i];
        if (i == comm->me && mine)
            memcpy(to, mine, size * (size_t)n[i]);
        else if (i != comm->me)
            code = (memset(to, 0, size * (size_t)n[i]), receive(to, size * (size_t)n[i]));
    }
    return code;
}

int MPI_Allgatherv(const void *mine, int n, MPI_Datatype type, void *all, const int each[],
                   const int at[], MPI_Datatype of, MPI_Comm comm)
{
    (void)of;
    assert(mine == MPI_IN_PLACE || n == each[comm->me]);
    return receive_blocks(mine == MPI_IN_PLACE ? NULL : mine, all, each, at, type->size, comm);
}

/* Others honestly send to each what this rank does. */
int MPI_Alltoall(const void *mine, int n, MPI_Datatype type, void *all, int n_each,
                 MPI_Datatype each, MPI_Comm comm)
{
    size_t n_bytes = (size_t)n * type->size * (size_t)comm->n;
    (void)n_each, (void)each;
    memcpy(all, mine, n_bytes);
    return receive(all, n_bytes);
}

int MPI_Alltoallv(const void *mine, const int n[], const int at[], MPI_Datatype type, void *all,
                  const int each[], const int all_at[], MPI_Datatype of, MPI_Comm comm)
{
    (void)of;
    assert(n[comm->me] == each[comm->me]);
    return receive_blocks((const char *)mine + type->size * (size_t)at[comm->me], all, each, all_at,
                          type->size, comm);
}

int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    (void)data, (void)n, (void)type, (void)to, (void)tag, (void)comm;
    return receive(NULL, 0);
}

/* Bytes are gathered into blocks in order, of which this rank's own is there. */
int MPI_Recv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    (void)tag, (void)comm, (void)status;
    if (type == MPI_BYTE)
        memcpy(data, (char *)data - (size_t)n * (size_t)from, (size_t)n);
    return receive(data, (size_t)n * type->size);
}

int MPI_Sendrecv_replace(void *data, int n, MPI_Datatype type, int to, int to_tag, int from,
                         int from_tag, MPI_Comm comm, MPI_Status *status)
{
    (void)to, (void)to_tag;
    return MPI_Recv(data, n, type, from, from_tag, comm, status);
}

int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    (void)data, (void)n, (void)type, (void)to, (void)tag, (void)comm, (void)request;
    return receive(NULL, 0);
}

int MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    (void)from, (void)tag, (void)comm, (void)request;
    return receive_typed(data, n, type);
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status *statuses)
{
    (void)n, (void)requests, (void)statuses;
    return receive(NULL, 0);
}

int MPI_Cancel(MPI_Request *request)
{
    (void)request;
    return MPI_SUCCESS;
}

/* ---- watch.h, which is about processes and not about messages ---- */

bool host_open(MPI_Comm world, MpiHost *out, Error *err)
{
    (void)world, (void)err;
    *out = (MpiHost){.n = 1};
    return true;
}

void host_close(MpiHost *host)
{
    (void)host;
}

void host_say(MpiHost *host, Str text)
{
    (void)host, (void)text;
}

bool watch_open(Arena *arena, MpiHost *host, const Team *team, RankWatch *out, Error *err)
{
    (void)arena, (void)err;
    *out = (RankWatch){.host = host, .team = team};
    return true;
}

void watch_close(RankWatch *watch)
{
    (void)watch;
}

void watch_note(RankWatch *watch)
{
    (void)watch;
}

/* ---- plans ---- */

/* A graph, and shardings of its tensors. A ring: the attention's keys go around by axis a. */
static const struct {
    const char *net, *mesh, *pins;
    bool ring;
} plans[] = {
    {"x <- Neg f32[8,16]; y <- MatMul x f32[16,4]!; z <- Add y f32[4]!", "a=2", "x 8,16/a", false},
    {"x <- Neg f32[8,16]; y <- MatMul x f32[16,4]!; z <- Neg y", "a=4", "x 8,16/a; y 8/a,4", false},
    {"x <- Neg f16[8,6]; y <- Neg x; z <- Neg y; o <- Neg z", "a=2,b=2",
     "x 8/a,6; y 8,6/a; z 8/a.b,6; o 8,6/b", false},
    {"x <- Neg f32[2,8,80]; y <- Neg x; z <- Transpose y perm=[1,0,2]; o <- Neg z", "a=2",
     "x 2,8/a,80; y 2,8,80", false},
    {"x <- Neg f32[1,2,16,4]; y <- Conv x f32[2,2,3,3]! pads=[1,1,1,1]; z <- Neg y", "a=4",
     "x 1,2,16/a,4", false},
    {"i <- Neg i64[8]; g <- Gather f32[6,4]! i; o <- ReduceMax g axes=[1]; z <- Neg o", "a=2",
     "i 8/a; o 8/a,1", false},
    {"q <- Neg f32[1,2,8,4]; k <- Neg f32[1,2,8,4]; v <- Neg f32[1,2,8,4]; "
     "y <- Attention q k v is_causal=1; z <- Neg y",
     "a=4", "q 1,2,8/a,4", true},
    {"n <- Neg i64[1]; x <- Neg f32[4,6]; t u <- TopK x n axis=1; o <- Neg u; p <- Neg t", "a=2",
     "n 1; x 4/a,6", false},
};
enum { PLAN_COUNT = sizeof plans / sizeof *plans };

static void decide(Session *session, Decision pin)
{
    Error err = {0};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    if (!session_apply(session, &pin, 1, &err))
        wrong(err.text);
}

static void pin_text(Session *session, Str item)
{
    Str name = str_take(&item, ' ');
    if (name.n == 0)
        name = str_take(&item, ' ');
    int32_t tensor = naming_find(session->naming, name, NULL);
    Source source = {.name = "pin", .text = item};
    Sharding sharding;
    Error err = {0};
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(session->inferred, tensor);
    if (!shape || !sharding_parse(&source, shape, session->mesh, VIEW_OURS, &sharding, &err))
        wrong(err.text);
    for (int d = 0; d < sharding.n_dims; d++)
        if (!cut_is_whole(&sharding.dim[d]))
            decide(session, (Decision){.kind = PIN_TENSOR_DIM,
                                       .place = tensor,
                                       .dim = d,
                                       .cut = cut_keep(intern_new(session->journal_arena),
                                                       &sharding.dim[d])});
}

static void pin_ring(Session *session)
{
    const Inferred *inferred = session->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const OpSpace *space = inferred_space(inferred, op);
        for (int d = 0; space && d < space->n_index; d++) {
            Cut cut = cut_by(space->index[d].size, (const uint8_t[]){0}, 1, session->mesh);
            cut.before = CUT_RING;
            cut.after = 1;
            if (space->index[d].rounds > 0)
                decide(session,
                       (Decision){.kind = PIN_INDEX_DIM,
                                  .place = op,
                                  .dim = d,
                                  .cut = cut_keep(intern_new(session->journal_arena), &cut)});
        }
    }
}

static Session *open_plan(int i)
{
    static const SessionHooks hooks = {.machine = round_machine};
    SessionOptions options = {.mesh = plans[i].mesh};
    Error err = {0};
    Graph *graph = graph_from_text(arena_new(), plans[i].net, 23);
    Session *session = session_open_graph(graph, &options, &hooks, &err);
    if (!session)
        wrong(err.text);
    for (Str rest = str_from(plans[i].pins); rest.n > 0;)
        pin_text(session, str_take(&rest, ';'));
    if (plans[i].ring)
        pin_ring(session);
    if (!plan_is_legal(session->plan))
        wrong(plans[i].net);
    return session;
}

/* ---- a run ---- */

static void check_report(const RunReport *report, const Plan *plan)
{
    int32_t n = plan->inferred->graph->n_tensors;
    if (report->elsewhere)
        return;
    assert(report->first_bad < n && report->strange < n && report->unproven < n);
    assert(report->first_bad < 0 || report->wrong.at.n_dims <= DIMS_MAX);
    assert(report->n_passes > 0 && report->n_values_checked >= 0 && report->peak_bytes >= 0);
}

/* As the only process that is there, it goes on. */
static void stop(World *world, const Error *why)
{
    (void)world;
    assert(error_is_set(why));
}

static void run(const Plan *plan, int flags)
{
    World world = {.own = NULL};
    Error err = {0};
    RunReport report;
    RunOptions options = {.verify = flags & 1,
                          .deterministic = flags & 2,
                          .trace = flags & 4,
                          .seed = 7,
                          .repeat = 1 + (flags >> 3 & 1),
                          .runner = dimscope_plugin.runner,
                          .world = &world};
    Arena *arena = arena_new();
    bool opened = mpi_world_open(&world, &err);
    assert(opened != error_is_set(&err));
    world.stop = stop;
    if (opened) {
        bool ran = run_plan(arena, plan, &options, &report, &err);
        assert(ran != error_is_set(&err));
        if (ran)
            check_report(&report, plan);
    }
    if (world.own)
        world.close(&world);
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static Session *opened[PLAN_COUNT];
    input.at = bytes;
    input.n = n_bytes;
    int i = take() % PLAN_COUNT;
    if (!opened[i])
        opened[i] = open_plan(i);
    ranks.n = (int)opened[i]->mesh->n_devices;
    ranks.me = take() % ranks.n;
    ompi_mpi_comm_world.comm = (struct ompi_communicator_t){ranks.n, ranks.me};
    run(opened[i]->plan, take());
    return 0;
}
