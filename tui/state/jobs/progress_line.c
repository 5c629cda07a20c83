#include "tui/state/jobs/progress_line.h"

#include "core/base/file.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { REDRAW_MS = 200, LINE_MAX_BYTES = 80 };

struct ProgressLineShown {
    const Progress *progress;
    int file, after_ms;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ends, is_there;
};

/* "propagating  43%" */
static void draw(ProgressLineShown *shown)
{
    const char *stage = atomic_load(&shown->progress->stage);
    double share = progress_share(shown->progress);
    char line[LINE_MAX_BYTES], percent[8] = "";
    if (!stage)
        return;
    if (share >= 0)
        snprintf(percent, sizeof percent, " %3.0f%%", 100 * (share < 1 ? share : 1));
    int n = snprintf(line, sizeof line, "\r\033[K%.60s%s ..", stage, percent);
    (void)file_write_all(shown->file, (Str){line, (size_t)n}); /* the line is a comfort */
    shown->is_there = true;
}

static struct timespec after(int ms)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += ms % 1000 * 1000000L;
    at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    return at;
}

static void *show(void *context)
{
    ProgressLineShown *shown = context;
    struct timespec at = after(shown->after_ms);
    pthread_mutex_lock(&shown->lock);
    while (!shown->ends) {
        if (pthread_cond_timedwait(&shown->changed, &shown->lock, &at) == 0)
            continue;
        draw(shown);
        at = after(REDRAW_MS);
    }
    pthread_mutex_unlock(&shown->lock);
    return NULL;
}

ProgressLineShown *progress_line_begin(Arena *arena, const Progress *progress, int file,
                                       int after_ms)
{
    ProgressLineShown *shown = arena_make(arena, ProgressLineShown);
    shown->progress = progress;
    shown->file = file;
    shown->after_ms = after_ms;
    pthread_mutex_init(&shown->lock, NULL);
    pthread_cond_init(&shown->changed, NULL);
    return pthread_create(&shown->thread, NULL, show, shown) == 0 ? shown : NULL;
}

void progress_line_end(ProgressLineShown *shown)
{
    if (!shown)
        return;
    pthread_mutex_lock(&shown->lock);
    shown->ends = true;
    pthread_cond_signal(&shown->changed);
    pthread_mutex_unlock(&shown->lock);
    pthread_join(shown->thread, NULL);
    if (shown->is_there)
        (void)file_write_all(shown->file, STR("\r\033[K"));
    pthread_mutex_destroy(&shown->lock);
    pthread_cond_destroy(&shown->changed);
}
