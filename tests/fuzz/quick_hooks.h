/* quick_hooks.h - the hooks of a session without the operators that are shipped as scripts: to read
 * them takes longer than what is tried on a small model. */
#ifndef TESTS_FUZZ_QUICK_HOOKS_H
#define TESTS_FUZZ_QUICK_HOOKS_H

#include "scripts/hooks.h"

static bool (*shipped_prepare)(void *context, Session *session, const char *policy,
                               const RuleBook *rules, Error *err);

static inline bool quick_prepare(void *context, Session *session, const char *policy,
                                 const RuleBook *rules, Error *err)
{
    return !policy || shipped_prepare(context, session, policy, rules, err);
}

static inline SessionHooks quick_hooks(Scripts *scripts)
{
    SessionHooks hooks = scripts_hooks(scripts);
    shipped_prepare = hooks.prepare;
    hooks.prepare = quick_prepare;
    return hooks;
}

#endif
