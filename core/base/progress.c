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

static void copy(char *to, size_t room, Str text)
{
    size_t n = text.n < room ? text.n : room - 1;
    memcpy(to, text.s, n);
    to[n] = '\0';
}

void progress_line(Progress *progress, Str name, Str kind)
{
    int n = progress ? atomic_load_explicit(&progress->n_lines, memory_order_relaxed) : 0;
    if (!progress || n >= PROGRESS_LINES)
        return;
    copy(progress->line[n].name, PROGRESS_NAME, name);
    copy(progress->line[n].kind, PROGRESS_KIND, kind);
    atomic_store_explicit(&progress->n_lines, n + 1, memory_order_release);
}

void progress_findings(Progress *progress, int n)
{
    if (progress)
        atomic_store(&progress->n_findings, n);
}

bool progress_goes_on(Progress *progress, Error *err)
{
    if (!progress_stopped(progress))
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
