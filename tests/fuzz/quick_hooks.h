/* quick_hooks.h - the hooks of a session without what takes longer to read than what is tried on a
 * small model: operators that are shipped as scripts are left out, the sizes that a policy asks for
 * too, and a shipped machine is read once. */
#ifndef TESTS_FUZZ_QUICK_HOOKS_H
#define TESTS_FUZZ_QUICK_HOOKS_H

#include "scripts/hooks.h"
#include "tests/fuzz/pace.h"

#include <pthread.h>
#include <string.h>

static bool (*shipped_prepare)(void *context, Session *session, const char *policy,
                               const RuleBook *rules, Error *err);

static inline bool quick_prepare(void *context, Session *session, const char *policy,
                                 const RuleBook *rules, Error *err)
{
    return !policy || shipped_prepare(context, session, policy, rules, err);
}

static bool (*shipped_machine)(void *context, Arena *arena, const char *name, Machine *out,
                               Error *err);

/* On the threads of jobs, too. */
static inline bool quick_machine(void *context, Arena *arena, const char *name, Machine *out,
                                 Error *err)
{
    enum { KEPT_MAX = 32 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static Arena *kept_arena; /* as long as the program */
    static struct {
        const char *name;
        Machine machine;
    } kept[KEPT_MAX];
    static int n;
    if (strpbrk(name, "/."))
        return shipped_machine(context, arena, name, out, err);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < n && strcmp(kept[i].name, name) != 0)
        i++;
    if (!kept_arena)
        kept_arena = arena_new();
    bool ok = i < n;
    if (!ok && i < KEPT_MAX)
        ok = shipped_machine(context, kept_arena, name, &kept[i].machine, err);
    if (ok && i == n)
        kept[n++].name = arena_str(kept_arena, str_from(name));
    if (ok)
        *out = kept[i].machine;
    pthread_mutex_unlock(&lock);
    return ok;
}

static inline SessionHooks quick_hooks(Scripts *scripts)
{
    SessionHooks hooks = scripts_hooks(scripts);
    shipped_prepare = hooks.prepare;
    shipped_machine = hooks.machine;
    hooks.prepare = quick_prepare;
    hooks.machine = quick_machine;
    hooks.sizes = NULL;
    return hooks;
}

/* The graph of a model file alone, by one registry for all inputs; NULL with *err. */
static inline Graph *quick_graph(Arena *arena, const SessionHooks *hooks, const char *path,
                                 Error *err)
{
    static Arena *kept; /* as long as the program */
    static RuleBook rules;
    if (!kept)
        rules = rule_book_new(kept = arena_new());
    Session session = {.model_arena = arena, .journal_arena = arena, .rules = rules};
    DimBindings none = {0}, defaults = {0};
    return hooks->model(hooks->context, &session, path, &none, &defaults, err);
}

#endif
