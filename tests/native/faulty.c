/* faulty.c - kernels that fail without returning an error, or are slow, on the rank whose part
 * begins at place 2 of the first dim; on other ranks they copy their input. */
#include "dimscope_kernel.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

DIMSCOPE_PLUGIN

static int copy(const DimscopeCall *call)
{
    const DimscopeTensor *in = call->input[0], *out = call->output[0];
    size_t n = sizeof(float);
    for (int d = 0; d < in->n_dims; d++)
        n *= (size_t)in->shape[d];
    memcpy(out->data, in->data, n);
    return 0;
}

static int is_chosen(const DimscopeCall *call)
{
    const DimscopeTensor *in = call->input[0];
    return in->n_dims > 0 && in->shape[0] > 0 && in->shape[0] < in->whole[0] &&
           in->global[0][0] == 2;
}

int crash(const DimscopeCall *call)
{
    if (is_chosen(call))
        abort();
    return copy(call);
}

/* As core/base/memory.h ends where there is none. */
int exhaust(const DimscopeCall *call)
{
    if (is_chosen(call)) {
        errno = ENOMEM;
        abort();
    }
    return copy(call);
}

int hang(const DimscopeCall *call)
{
    while (is_chosen(call))
        pause();
    return copy(call);
}

int spin(const DimscopeCall *call)
{
    for (volatile long n = 0; is_chosen(call); n++)
        continue;
    return copy(call);
}

/* Computes for 0.3 s of its thread's time on a core. */
int slow(const DimscopeCall *call)
{
    struct timespec begin, now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    double s = 0;
    while (is_chosen(call) && s < 0.3) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        s = (double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9;
    }
    return copy(call);
}

int leave(const DimscopeCall *call)
{
    if (is_chosen(call))
        _exit(0);
    return copy(call);
}

int killed(const DimscopeCall *call)
{
    if (is_chosen(call))
        kill(getpid(), 9);
    return copy(call);
}

int garbage(const DimscopeCall *call)
{
    copy(call);
    if (is_chosen(call))
        memset(call->output[0]->data, 0xff, sizeof(float));
    return 0;
}
