/* Runs the threads of a block on separate stacks, on one system thread.
 *
 * One stack runs thread after thread as long as they do not wait. A thread that waits at a barrier
 * keeps the stack, and the next one gets another. When all are started, those whose barrier all
 * have reached go on: a warp's shuffle needs its own lanes, __syncthreads() the whole block. In
 * which order threads start and go on is drawn by chance, from the front or from the back.
 */
#include "tests/fakecuda/fake.h"

#define DEVICE_LOCAL
#include "tests/fakecuda/device_prelude.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

enum { THREADS_MAX = 1024, WARP = 32, STACK_BYTES = 128 << 10, SHARED_MAX = 256 << 10 };

typedef enum { THREAD_NEW, THREAD_READY, AT_SHUFFLE, AT_BARRIER, THREAD_ENDED } ThreadState;

typedef struct {
#ifdef __x86_64__
    void *stack_top;
#else
    ucontext_t context;
#endif
} Place; /* where to continue */

typedef struct {
    char *stack;
    Place place;
} Fiber;

typedef struct {
    ThreadState state;
    int fiber;
    int n_shuffles;
    uint64_t slot[2]; /* of this and the previous shuffle */
} Thread;

static struct {
    Fiber fiber[THREADS_MAX];
    int idle[THREADS_MAX], n_idle, n_fibers;
    Thread thread[THREADS_MAX];
    int n_threads, n_started, n_ended, now;
    bool backwards;
    bool flat; /* its threads wait in one list */
    Place scheduler;
    Kernel *kernel;
    void **args;
    _Alignas(16) char shared[SHARED_MAX];
    bool running;
    pthread_t runner;
    const void *bad_address;
    bool stray;
} block;

DeviceIndex threadIdx, blockIdx, blockDim, gridDim;
void *device_shared;

/* ---- switching stacks ---- */

#ifdef __x86_64__
__asm__(".text\n"
        ".type fake_switch,@function\n"
        "fake_switch:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov (%rsi), %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n"
        ".size fake_switch,.-fake_switch\n");
void fake_switch(Place *from, Place *to);

static void place_new(Fiber *fiber, void (*start)(void))
{
    size_t shift = (size_t)(fiber - block.fiber) % 64 * 128; /* spread over cache sets */
    void **top = (void **)(void *)(fiber->stack + STACK_BYTES - shift);
    *--top = NULL; /* as after a call: the stack is 8 off a multiple of 16 */
    *--top = (void *)(uintptr_t)start;
    fiber->place.stack_top = top - 6;
}
#else
static void fake_switch(Place *from, Place *to)
{
    swapcontext(&from->context, &to->context);
}

static void place_new(Fiber *fiber, void (*start)(void))
{
    getcontext(&fiber->place.context);
    fiber->place.context.uc_stack.ss_sp = fiber->stack;
    fiber->place.context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber->place.context, start, 0);
}
#endif

/* ---- threads */

static void set_index(int thread)
{
    block.now = thread;
    threadIdx = (DeviceIndex){(unsigned)thread, 0, 0};
    if (block.flat)
        return;
    threadIdx.x = (unsigned)thread % blockDim.x;
    threadIdx.y = (unsigned)thread / blockDim.x % blockDim.y;
    threadIdx.z = (unsigned)thread / blockDim.x / blockDim.y;
}

/* Body of each stack: starts threads while there are any. */
static void fiber_main(void)
{
    int mine = block.thread[block.now].fiber;
    for (;;) {
        block.kernel->entry(block.args);
        block.thread[block.now].state = THREAD_ENDED;
        block.n_ended++;
        if (block.n_started < block.n_threads) {
            int next = block.n_started++;
            set_index(block.backwards ? block.n_threads - 1 - next : next);
            block.thread[block.now].fiber = mine;
            block.thread[block.now].state = THREAD_READY;
            continue;
        }
        block.idle[block.n_idle++] = mine;
        fake_switch(&block.fiber[mine].place, &block.scheduler);
        /* resumed for another thread */
    }
}

static int fiber_take(void)
{
    if (block.n_idle)
        return block.idle[--block.n_idle];
    Fiber *fiber = &block.fiber[block.n_fibers];
    char *memory = mmap(NULL, STACK_BYTES + 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    mprotect(memory, 4096, PROT_NONE); /* detects overflow */
    fiber->stack = memory + 4096;
    place_new(fiber, fiber_main);
    return block.n_fibers++;
}

/* Resets stacks abandoned in the middle. */
static void fibers_renew(void)
{
    block.n_idle = 0;
    for (int i = 0; i < block.n_fibers; i++) {
        place_new(&block.fiber[i], fiber_main);
        block.idle[block.n_idle++] = i;
    }
}

static void go_to(int thread)
{
    set_index(thread);
    fake_switch(&block.scheduler, &block.fiber[block.thread[thread].fiber].place);
}

static void wait_as(ThreadState state)
{
    Thread *thread = &block.thread[block.now];
    thread->state = state;
    fake_switch(&block.fiber[thread->fiber].place, &block.scheduler);
}

void __syncthreads(void)
{
    wait_as(AT_BARRIER);
}

static uint64_t shuffle(uint64_t value, int mask)
{
    int me = block.now;
    Thread *thread = &block.thread[me];
    int slot = thread->n_shuffles++ % 2;
    thread->slot[slot] = value;
    wait_as(AT_SHUFFLE);
    int other = me / WARP * WARP + ((me % WARP) ^ (mask % WARP));
    return other < block.n_threads ? block.thread[other].slot[slot] : value;
}

double device_shuffle_xor(double value, int mask)
{
    union {
        double value;
        uint64_t bits;
    } x = {.value = value};
    x.bits = shuffle(x.bits, mask);
    return x.value;
}

int64_t device_shuffle_xor_i64(int64_t value, int mask)
{
    return (int64_t)shuffle((uint64_t)value, mask);
}

/* ---- the scheduler */

/* Releases threads waiting as `state` in [from, to) once all live ones wait there. False when one
 * has another state; *mixed when some had ended, which barriers forbid. */
static bool release(int from, int to, ThreadState state, bool *mixed)
{
    int n_waiting = 0, n_ended = 0;
    for (int i = from; i < to; i++) {
        n_waiting += block.thread[i].state == state;
        n_ended += block.thread[i].state == THREAD_ENDED;
    }
    if (!n_waiting || n_waiting + n_ended != to - from)
        return false;
    *mixed = *mixed || n_ended;
    for (int i = from; i < to; i++) {
        if (block.thread[i].state == state)
            block.thread[i].state = THREAD_READY;
    }
    return true;
}

static bool release_any(bool *mixed)
{
    bool any = false;
    for (int from = 0; from < block.n_threads; from += WARP) {
        int to = from + WARP < block.n_threads ? from + WARP : block.n_threads;
        any = release(from, to, AT_SHUFFLE, mixed) || any;
    }
    return any || release(0, block.n_threads, AT_BARRIER, mixed);
}

static void start_rest(void)
{
    while (block.n_started < block.n_threads) {
        int next = block.n_started++;
        int thread = block.backwards ? block.n_threads - 1 - next : next;
        block.thread[thread].fiber = fiber_take();
        if (block.thread[thread].fiber < 0)
            abort();
        block.thread[thread].state = THREAD_READY;
        go_to(thread);
    }
}

static void resume_ready(void)
{
    for (int i = 0; i < block.n_threads; i++) {
        int thread = block.backwards ? block.n_threads - 1 - i : i;
        if (block.thread[thread].state == THREAD_READY)
            go_to(thread);
    }
}

/* NULL, or the error. */
static const char *run_threads(void)
{
    block.n_started = block.n_ended = 0;
    block.backwards = fake_random() % 2;
    for (int i = 0; i < block.n_threads; i++)
        block.thread[i] = (Thread){.state = THREAD_NEW};
    start_rest();
    while (block.n_ended < block.n_threads && !block.stray) {
        bool mixed = false;
        if (!release_any(&mixed))
            return "has threads that wait at different barriers";
        if (mixed)
            return "has threads that ended before a barrier";
        resume_ready();
    }
    return block.stray ? "goes astray" : NULL;
}

/* ---- invalid addresses ---- */

static struct sigaction before[2];

static void on_stray(int number, siginfo_t *info, void *context)
{
    if (!block.running || !pthread_equal(block.runner, pthread_self())) {
        const struct sigaction *old = &before[number == SIGBUS];
        if (old->sa_flags & SA_SIGINFO)
            old->sa_sigaction(number, info, context);
        else
            sigaction(number, old, NULL); /* the fault repeats and ends the process as usual */
        return;
    }
    Place nowhere;
    block.bad_address = info->si_addr;
    block.stray = true;
    block.n_started = block.n_threads;
    fake_switch(&nowhere, &block.scheduler);
}

static void watch_strays(bool watch)
{
    static _Thread_local char stack[1 << 15];
    stack_t has;
    if (sigaltstack(NULL, &has) == 0 && has.ss_flags & SS_DISABLE) /* a sanitizer has its own
                                                                    * handler */
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_sigaction = on_stray,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    static const int number[] = {SIGSEGV, SIGBUS};
    for (int i = 0; i < 2; i++)
        sigaction(number[i], watch ? &action : &before[i], watch ? &before[i] : NULL);
}

/* ---- launches */

static bool blame(int device, const Kernel *kernel, const char *what)
{
    char where[200];
    if (block.stray) {
        memory_explain(block.bad_address, where);
        fake_say("kernel %s, block %u %u %u, thread %d: reaches %s, on device %d", kernel->name,
                 blockIdx.x, blockIdx.y, blockIdx.z, block.now, where, device);
        device_fail(device, cudaErrorIllegalAddress);
    } else {
        fake_say("kernel %s, block %u %u %u: %s", kernel->name, blockIdx.x, blockIdx.y, blockIdx.z,
                 what);
        device_fail(device, cudaErrorLaunchFailure);
    }
    fibers_renew();
    return false;
}

static DeviceIndex index_of(dim3 at)
{
    return (DeviceIndex){at.x, at.y, at.z};
}

/* Shared memory is uninitialised at the start of a block. */
static const char *run_block(const Launch *launch)
{
    memset(block.shared, 0xff, launch->shared_bytes);
    return run_threads();
}

bool blocks_run(int device, Launch *launch)
{
    void *args[] = {launch->argument};
    block.kernel = launch->kernel;
    block.args = args;
    block.stray = false;
    block.n_threads = (int)(launch->block.x * launch->block.y * launch->block.z);
    block.flat = launch->block.y == 1 && launch->block.z == 1;
    blockDim = index_of(launch->block);
    gridDim = index_of(launch->grid);
    device_shared = block.shared;
    memory_open_for(device);
    block.runner = pthread_self();
    watch_strays(true);
    block.running = true;
    const char *wrong = NULL;
    uint64_t n = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
    bool backwards = fake_random() % 2;
    for (uint64_t i = 0; i < n && !wrong; i++) {
        uint64_t at = backwards ? n - 1 - i : i;
        blockIdx = (DeviceIndex){(unsigned)(at % gridDim.x), (unsigned)(at / gridDim.x % gridDim.y),
                                 (unsigned)(at / gridDim.x / gridDim.y)};
        wrong = run_block(launch);
    }
    block.running = false;
    watch_strays(false);
    if (wrong)
        return blame(device, launch->kernel, wrong);
    return memory_check_ends(device, launch->kernel->name);
}
