/* fault.c - kernels that fail on the rank whose part begins at row 32, and else make zeros. */
#include "dimscope_kernel.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DIMSCOPE_PLUGIN

static int is_here(const DimscopeCall *call)
{
    for (int i = 0; i < call->n_args; i++)
        if (strcmp(call->arg[i].name, "start") == 0)
            return call->arg[i].i == 32;
    return 0;
}

int crash(const DimscopeCall *call)
{
    if (is_here(call))
        raise(SIGSEGV);
    return 0;
}

int killed(const DimscopeCall *call)
{
    if (is_here(call))
        raise(SIGKILL);
    return 0;
}

int stopped(const DimscopeCall *call)
{
    if (is_here(call))
        raise(SIGSTOP);
    return 0;
}

int ends(const DimscopeCall *call)
{
    if (is_here(call))
        _exit(0);
    return 0;
}

int hang(const DimscopeCall *call)
{
    while (is_here(call))
        sleep(1);
    return 0;
}

int refuse(const DimscopeCall *call)
{
    if (is_here(call))
        snprintf(call->error, call->error_size, "rows are missing");
    return is_here(call);
}
