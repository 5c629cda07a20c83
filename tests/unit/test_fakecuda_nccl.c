/* Collectives of the GPUs that are none: right sums, in every order, and ranks that do not come. */
#include "core/run/cuda/cuda_api.h"
#include "tests/fakecuda/fakecuda.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MAX = 8, N = 24 };

#define ok(call) assert_int_equal((call), 0)

typedef struct {
    int n;
    ncclComm_t comm[RANKS_MAX];
    cudaStream_t stream[RANKS_MAX];
    float *from[RANKS_MAX], *to[RANKS_MAX]; /* N x ranks elements each */
} Ranks;

static float element(int rank, int i)
{
    return (float)(rank * 100 + i);
}

static Ranks ranks_open(int n, uint64_t seed, const char *faults)
{
    Ranks r = {.n = n};
    int devices[RANKS_MAX];
    float start[N * RANKS_MAX];
    assert_true(fakecuda_start(n, 1 << 20, seed, faults));
    for (int i = 0; i < n; i++) {
        void *memory;
        devices[i] = n - 1 - i; /* a rank's number is not its device's */
        ok(cudaSetDevice(devices[i]));
        ok(cudaStreamCreateWithFlags(&r.stream[i], cudaStreamNonBlocking));
        ok(cudaMalloc(&memory, sizeof start));
        r.from[i] = memory;
        ok(cudaMalloc(&memory, sizeof start));
        r.to[i] = memory;
        for (int e = 0; e < N * RANKS_MAX; e++)
            start[e] = element(i, e);
        ok(cudaMemcpy(r.from[i], start, sizeof start, cudaMemcpyHostToDevice));
    }
    ok(ncclCommInitAll(r.comm, n, devices));
    return r;
}

static void ranks_close(Ranks *r)
{
    for (int i = 0; i < r->n; i++) {
        ok(ncclCommDestroy(r->comm[i]));
        ok(cudaStreamDestroy(r->stream[i]));
        ok(cudaFree(r->from[i]));
        ok(cudaFree(r->to[i]));
    }
    assert_int_equal(fakecuda_leaks(NULL), 0);
}

static void finish(const Ranks *r)
{
    for (int i = r->n; i-- > 0;)
        ok(cudaStreamSynchronize(r->stream[i]));
}

static float got(const Ranks *r, int rank, int i)
{
    float x;
    ok(cudaMemcpy(&x, r->to[rank] + i, sizeof x, cudaMemcpyDeviceToHost));
    return x;
}

/* What rank has at place i after each collective. */
typedef ncclResult_t Start(const Ranks *r, int rank);
typedef float Want(int n, int rank, int i);

static ncclResult_t start_sum(const Ranks *r, int i)
{
    return ncclAllReduce(r->from[i], r->to[i], N, ncclFloat32, ncclSum, r->comm[i], r->stream[i]);
}

static float want_sum(int n, int rank, int i)
{
    (void)rank;
    return (float)(n * (n - 1) / 2 * 100 + n * i);
}

static ncclResult_t start_max(const Ranks *r, int i)
{
    return ncclAllReduce(r->from[i], r->to[i], N, ncclFloat32, ncclMax, r->comm[i], r->stream[i]);
}

static float want_max(int n, int rank, int i)
{
    (void)rank;
    return element(n - 1, i);
}

static ncclResult_t start_average(const Ranks *r, int i)
{
    return ncclAllReduce(r->from[i], r->to[i], N, ncclFloat32, ncclAvg, r->comm[i], r->stream[i]);
}

static float want_average(int n, int rank, int i)
{
    return want_sum(n, rank, i) / (float)n;
}

static ncclResult_t start_scatter(const Ranks *r, int i)
{
    return ncclReduceScatter(r->from[i], r->to[i], N, ncclFloat32, ncclSum, r->comm[i],
                             r->stream[i]);
}

static float want_scatter(int n, int rank, int i)
{
    return want_sum(n, 0, rank * N + i);
}

static ncclResult_t start_gather(const Ranks *r, int i)
{
    return ncclAllGather(r->from[i], r->to[i], N, ncclFloat32, r->comm[i], r->stream[i]);
}

static float want_gather(int n, int rank, int i)
{
    (void)rank;
    return element((n - 1), i % N); /* of the last rank's part, looked at below */
}

static ncclResult_t start_broadcast(const Ranks *r, int i)
{
    return ncclBroadcast(r->from[i], r->to[i], N, ncclFloat32, r->n - 1, r->comm[i], r->stream[i]);
}

static float want_broadcast(int n, int rank, int i)
{
    (void)rank;
    return element(n - 1, i);
}

/* All to all: part p of each rank goes to rank p. */
static ncclResult_t start_exchange(const Ranks *r, int i)
{
    for (int p = 0; p < r->n; p++) {
        ok(ncclSend(r->from[i] + p * N, N, ncclFloat32, p, r->comm[i], r->stream[i]));
        ok(ncclRecv(r->to[i] + p * N, N, ncclFloat32, p, r->comm[i], r->stream[i]));
    }
    return ncclSuccess;
}

static float want_exchange(int n, int rank, int i)
{
    return element(n - 1, rank * N + i); /* the part that the last rank sent */
}

static const struct {
    Start *start;
    Want *want;
    bool last_part; /* what is looked at is the last rank's part */
} collectives[] = {
    {start_sum, want_sum, false},          {start_max, want_max, false},
    {start_average, want_average, false},  {start_scatter, want_scatter, false},
    {start_gather, want_gather, true},     {start_broadcast, want_broadcast, false},
    {start_exchange, want_exchange, true},
};

static void check(int n, size_t which, uint64_t seed)
{
    Ranks r = ranks_open(n, seed, NULL);
    ok(ncclGroupStart());
    for (int i = 0; i < n; i++)
        ok(collectives[which].start(&r, i));
    ok(ncclGroupEnd());
    finish(&r);
    for (int rank = 0; rank < n; rank++) {
        for (int i = 0; i < N; i += 5) {
            int at = i + (collectives[which].last_part ? (n - 1) * N : 0);
            float want = collectives[which].want(n, rank, i);
            if (got(&r, rank, at) != want)
                fail_msg("collective %zu of %d: rank %d has %g at %d, not %g", which, n, rank,
                         (double)got(&r, rank, at), at, (double)want);
        }
    }
    ranks_close(&r);
}

static void test_collectives(void **state)
{
    (void)state;
    for (int n = 1; n <= RANKS_MAX; n++) {
        for (size_t which = 0; which < sizeof collectives / sizeof *collectives; which++)
            check(n, which, (uint64_t)n);
    }
}

/* Several in a row, each from what the one before made, in streams whose order is drawn. */
static void test_in_a_row(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        Ranks r = ranks_open(4, seed, NULL);
        for (int round = 0; round < 3; round++) {
            ok(ncclGroupStart());
            for (int i = 0; i < 4; i++)
                ok(ncclAllReduce(round ? r.to[i] : r.from[i], r.to[i], N, ncclFloat32, ncclSum,
                                 r.comm[i], r.stream[i]));
            ok(ncclGroupEnd());
        }
        finish(&r);
        assert_true(got(&r, 2, 3) == 16 * want_sum(4, 0, 3));
        ranks_close(&r);
    }
}

static void test_captured(void **state)
{
    (void)state;
    Ranks r = ranks_open(2, 3, NULL);
    cudaGraph_t graph[2];
    cudaGraphExec_t exec[2];
    for (int i = 0; i < 2; i++)
        ok(cudaStreamBeginCapture(r.stream[i], cudaStreamCaptureModeRelaxed));
    ok(ncclGroupStart());
    for (int i = 0; i < 2; i++)
        ok(ncclAllReduce(r.from[i], r.from[i], N, ncclFloat32, ncclSum, r.comm[i], r.stream[i]));
    ok(ncclGroupEnd());
    for (int i = 0; i < 2; i++) {
        ok(cudaStreamEndCapture(r.stream[i], &graph[i]));
        ok(cudaGraphInstantiate(&exec[i], graph[i], 0));
        ok(cudaGraphDestroy(graph[i]));
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            ok(cudaGraphLaunch(exec[i], r.stream[i]));
    }
    finish(&r);
    float x;
    ok(cudaMemcpy(&x, r.from[0] + 3, sizeof x, cudaMemcpyDeviceToHost));
    assert_true(x == 4 * want_sum(2, 0, 3));
    ok(cudaGraphExecDestroy(exec[0]));
    ok(cudaGraphExecDestroy(exec[1]));
    ranks_close(&r);
}

static void test_narrow_types(void **state)
{
    (void)state;
    Ranks r = ranks_open(3, 1, NULL);
    uint16_t one_bf16 = 0x3f80, one_f16 = 0x3c00, x;
    const ncclDataType_t type[] = {ncclBfloat16, ncclFloat16};
    const uint16_t one[] = {one_bf16, one_f16}, three[] = {0x4040, 0x4200};
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3; i++)
            ok(cudaMemcpy(r.from[i], &one[t], 2, cudaMemcpyHostToDevice));
        ok(ncclGroupStart());
        for (int i = 0; i < 3; i++)
            ok(ncclAllReduce(r.from[i], r.to[i], 1, type[t], ncclSum, r.comm[i], r.stream[i]));
        ok(ncclGroupEnd());
        finish(&r);
        ok(cudaMemcpy(&x, r.to[1], 2, cudaMemcpyDeviceToHost));
        assert_int_equal(x, three[t]);
    }
    ranks_close(&r);
}

/* ---- what is refused */

static void test_refusals(void **state)
{
    (void)state;
    Ranks r = ranks_open(2, 1, NULL);
    ncclComm_t twice[2];
    assert_int_equal(ncclCommInitAll(twice, 2, (int[]){1, 1}), ncclInvalidUsage);
    assert_non_null(strstr(fakecuda_message(), "both on device 1"));
    assert_int_equal(start_sum(&r, 0), ncclInvalidUsage); /* one thread, two ranks, no group */
    assert_int_equal(
        ncclAllReduce(r.from[0], r.to[0], N, ncclFloat32, ncclSum, r.comm[0], r.stream[1]),
        ncclInvalidUsage);
    assert_int_equal(ncclBroadcast(r.from[0], r.to[0], N, ncclFloat32, 2, r.comm[0], r.stream[0]),
                     ncclInvalidArgument);
    assert_int_equal(ncclGroupEnd(), ncclInvalidUsage);
    int n;
    ok(ncclCommCount(r.comm[1], &n));
    assert_int_equal(n, 2);
    ok(ncclCommUserRank(r.comm[1], &n));
    assert_int_equal(n, 1);
    ranks_close(&r);
    assert_int_equal(ncclCommDestroy(r.comm[0]), ncclInvalidArgument);
}

static void test_different_calls(void **state)
{
    (void)state;
    Ranks r = ranks_open(2, 1, NULL);
    ncclResult_t error;
    ok(ncclGroupStart());
    ok(start_sum(&r, 0));
    ok(start_gather(&r, 1));
    ok(ncclGroupEnd());
    assert_non_null(strstr(fakecuda_message(), "rank 0 comes to an all-reduce of 24"));
    ok(ncclCommGetAsyncError(r.comm[0], &error));
    assert_int_equal(error, ncclInvalidUsage);
    assert_int_equal(cudaStreamQuery(r.stream[0]), cudaErrorNotReady);
    for (int i = 0; i < 2; i++)
        ok(ncclCommAbort(r.comm[i]));
    finish(&r);
    assert_int_equal(start_sum(&r, 0), ncclInvalidArgument);
}

/* A rank that is never there: the others wait until they abort. */
static void test_hang(void **state)
{
    (void)state;
    Ranks r = ranks_open(3, 1, "hang=2");
    for (int round = 0; round < 2; round++) {
        ok(ncclGroupStart());
        for (int i = 0; i < 3; i++)
            ok(start_sum(&r, i));
        ok(ncclGroupEnd());
        for (int look = 0; look < 30; look++)
            cudaStreamQuery(r.stream[1]);
        assert_int_equal(cudaStreamQuery(r.stream[1]), round ? cudaErrorNotReady : cudaSuccess);
    }
    ok(ncclCommAbort(r.comm[1]));
    ok(cudaStreamSynchronize(r.stream[1]));
    assert_int_equal(cudaStreamQuery(r.stream[0]), cudaErrorNotReady);
    ok(ncclCommAbort(r.comm[0]));
    ok(ncclCommAbort(r.comm[2]));
    finish(&r);
    fakecuda_start(1, 1, 1, NULL);
    assert_int_equal(fakecuda_leaks(NULL), 0);
}

/* The device of one rank fails: it hears of it, the others wait. */
static void test_failed_device(void **state)
{
    (void)state;
    Ranks r = ranks_open(2, 1, "lost=3");
    ok(cudaMemsetAsync(r.to[1], 0, 4, r.stream[1]));
    ok(ncclGroupStart());
    for (int i = 0; i < 2; i++)
        ok(start_sum(&r, i));
    ok(ncclGroupEnd());
    ncclResult_t error = ncclSuccess;
    assert_int_not_equal(cudaStreamSynchronize(r.stream[1]), cudaSuccess);
    ok(ncclCommGetAsyncError(r.comm[1], &error));
    assert_int_equal(error, ncclUnhandledCudaError);
    ok(cudaSetDevice(1)); /* that of rank 0 */
    for (int look = 0; look < 30; look++)
        assert_int_equal(cudaStreamQuery(r.stream[0]), cudaErrorNotReady);
    ok(ncclCommAbort(r.comm[0]));
    ok(cudaStreamSynchronize(r.stream[0]));
    ok(ncclCommAbort(r.comm[1]));
    fakecuda_start(1, 1, 1, NULL);
}

/* ---- a thread for each rank */

typedef struct {
    ncclUniqueId id;
    int rank, device;
    float sum;
    ncclResult_t joined;
} Thread;

static void *thread_main(void *at)
{
    Thread *t = at;
    ncclComm_t comm;
    void *memory;
    float x = (float)t->rank;
    cudaSetDevice(t->device);
    cudaMalloc(&memory, sizeof x);
    cudaMemcpy(memory, &x, sizeof x, cudaMemcpyHostToDevice);
    t->joined = ncclCommInitRank(&comm, 4, t->id, t->rank);
    if (!t->joined) {
        for (int i = 0; i < 3; i++)
            ncclAllReduce(memory, memory, 1, ncclFloat32, ncclSum, comm, NULL);
        cudaMemcpy(&t->sum, memory, sizeof x, cudaMemcpyDeviceToHost);
        ncclCommDestroy(comm);
    }
    cudaFree(memory);
    return NULL;
}

/* Four ranks, each a thread, on the devices 0 to n_devices - 1 in turn. */
static void run_threads(int n_devices, Thread thread[4])
{
    pthread_t made[4];
    ncclUniqueId id;
    assert_true(fakecuda_start(n_devices, 1 << 20, 1, NULL));
    ok(ncclGetUniqueId(&id));
    for (int i = 0; i < 4; i++) {
        thread[i] = (Thread){.id = id, .rank = i, .device = i % n_devices};
        ok(pthread_create(&made[i], NULL, thread_main, &thread[i]));
    }
    for (int i = 0; i < 4; i++)
        ok(pthread_join(made[i], NULL));
    assert_int_equal(fakecuda_leaks(NULL), 0);
}

static void test_threads(void **state)
{
    (void)state;
    Thread thread[4];
    run_threads(4, thread);
    for (int i = 0; i < 4; i++) {
        ok(thread[i].joined);
        assert_true(thread[i].sum == 4 * 4 * 6);
    }
}

static void test_threads_on_one_device(void **state)
{
    (void)state;
    Thread thread[4];
    run_threads(3, thread); /* ranks 0 and 3 are on device 0 */
    int n_refused = 0;
    for (int i = 0; i < 4; i++)
        n_refused += thread[i].joined == ncclInvalidUsage;
    assert_int_equal(n_refused, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives), cmocka_unit_test(test_in_a_row),
        cmocka_unit_test(test_captured),    cmocka_unit_test(test_narrow_types),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_different_calls),
        cmocka_unit_test(test_hang),        cmocka_unit_test(test_failed_device),
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_threads_on_one_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
