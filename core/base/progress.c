#include "core/base/progress.h"

void progress_stage(Progress *progress, const char *stage, int64_t total)
{
    if (!progress)
        return;
    atomic_store(&progress->done, 0);
    atomic_store(&progress->total, total);
    atomic_store(&progress->stage, stage);
}

void progress_add(Progress *progress, int64_t n)
{
    if (progress)
        atomic_fetch_add_explicit(&progress->done, n, memory_order_relaxed);
}

bool progress_goes_on(Progress *progress, Error *err)
{
    if (!progress || !atomic_load_explicit(&progress->stop, memory_order_relaxed))
        return true;
    return error_kind(err, ERROR_CANCELLED, "stopped");
}

void progress_stop(Progress *progress)
{
    if (progress)
        atomic_store(&progress->stop, true);
}

double progress_share(const Progress *progress)
{
    long long total = progress ? atomic_load(&progress->total) : 0;
    return total > 0 ? (double)atomic_load(&progress->done) / (double)total : -1;
}
