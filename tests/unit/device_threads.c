/* device_threads.c - the threads of a block, one stack each: linked to every kernel text that
 * on_device.h compiles for the CPU.
 *
 * A stack is begun once, by a context, and runs its thread of one block after the other. It is left
 * and entered by _longjmp(): unlike swapcontext() it asks the system for nothing. */
#include "tests/fakecuda/device_prelude.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { THREADS_MAX = 1024, WARP = 32, STACK_BYTES = 64 << 10 };
enum { RUNS, AT_BLOCK, AT_WARP, ENDED };

_Thread_local DeviceIndex threadIdx, blockIdx, blockDim, gridDim;
_Thread_local void *device_shared;

static _Thread_local struct {
    jmp_buf thread[THREADS_MAX], scheduler;
    char *stacks;
    int state[THREADS_MAX], n, now, n_begun;
    double real[THREADS_MAX];
    int64_t integer[THREADS_MAX];
    void (*entry)(void **args);
    void **args;
} block;

static void wait_at(int state)
{
    block.state[block.now] = state;
    if (_setjmp(block.thread[block.now]) == 0)
        _longjmp(block.scheduler, 1);
}

void __syncthreads(void)
{
    wait_at(AT_BLOCK);
}

double device_shuffle_xor(double value, int mask)
{
    block.real[block.now] = value;
    wait_at(AT_WARP);
    double other = block.real[block.now ^ mask];
    wait_at(AT_WARP);
    return other;
}

int64_t device_shuffle_xor_i64(int64_t value, int mask)
{
    block.integer[block.now] = value;
    wait_at(AT_WARP);
    int64_t other = block.integer[block.now ^ mask];
    wait_at(AT_WARP);
    return other;
}

static void run_threads(void)
{
    for (;;) {
        block.entry(block.args);
        wait_at(ENDED);
    }
}

/* Until the thread waits or ends. */
static void go_on(int t)
{
    block.now = t;
    threadIdx = (DeviceIndex){(unsigned)t, 0, 0};
    if (_setjmp(block.scheduler) != 0)
        return;
    if (t < block.n_begun)
        _longjmp(block.thread[t], 1);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = block.stacks + (size_t)t * STACK_BYTES;
    context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&context, run_threads, 0);
    block.n_begun = t + 1;
    setcontext(&context);
}

/* Lets those go on of whom all have come; false: nobody can. */
static int release(void)
{
    int any = 0, ended = 0, at_block = 0;
    for (int t = 0; t < block.n; t++) {
        ended += block.state[t] == ENDED;
        at_block += block.state[t] == AT_BLOCK;
    }
    if (at_block > 0 && at_block + ended == block.n)
        for (int t = 0; t < block.n; t++)
            if (block.state[t] == AT_BLOCK) {
                block.state[t] = RUNS;
                any = 1;
            }
    for (int w = 0; w < block.n; w += WARP) {
        int at_warp = 0;
        for (int t = w; t < w + WARP; t++)
            at_warp += block.state[t] == AT_WARP;
        for (int t = w; at_warp == WARP && t < w + WARP; t++) {
            block.state[t] = RUNS;
            any = 1;
        }
    }
    return any || ended == block.n;
}

static void run_block(void)
{
    for (int t = 0; t < block.n; t++)
        block.state[t] = RUNS;
    int live = 1;
    while (live) {
        live = 0;
        for (int t = 0; t < block.n; t++) {
            if (block.state[t] == RUNS)
                go_on(t);
            live |= block.state[t] != ENDED;
        }
        if (!release()) {
            fprintf(stderr, "threads of a block wait in different places\n");
            abort();
        }
    }
}

/* All blocks, one after the other. */
void device_run(void (*entry)(void **args), void **args, const int64_t grid[3], int n_threads,
                int64_t shared_bytes);
void device_run(void (*entry)(void **args), void **args, const int64_t grid[3], int n_threads,
                int64_t shared_bytes)
{
    if (!block.stacks)
        block.stacks = malloc((size_t)THREADS_MAX * STACK_BYTES);
    device_shared = aligned_alloc(16, (size_t)(shared_bytes + 31) / 16 * 16);
    block.entry = entry;
    block.args = args;
    block.n = n_threads;
    blockDim = (DeviceIndex){(unsigned)n_threads, 1, 1};
    gridDim = (DeviceIndex){(unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]};
    for (unsigned z = 0; z < gridDim.z; z++)
        for (unsigned y = 0; y < gridDim.y; y++)
            for (unsigned x = 0; x < gridDim.x; x++) {
                blockIdx = (DeviceIndex){x, y, z};
                memset(device_shared, 0xff, (size_t)shared_bytes);
                run_block();
            }
    free(device_shared);
}
