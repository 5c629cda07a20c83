/* policy_options.h - the options that a policy declares, and their values in a request.
 *
 * A policy file declares OPTIONS = {{"micro_batches", 8, "micro-batches a step"}, ..}; --set
 * micro_batches=16 gives another value. Values are texts here; the policy knows their types.
 */
#ifndef CORE_SESSION_POLICY_OPTIONS_H
#define CORE_SESSION_POLICY_OPTIONS_H

#include "core/base/error.h"
#include "core/base/vec.h"

typedef struct {
    const char *name, *value;
} PolicySetting;
typedef Vec(PolicySetting) PolicySettings;

typedef struct {
    const char *name, *value; /* the value in use */
    const char *fallback;     /* the value without a setting */
    const char *help;
} PolicyOption;
typedef Vec(PolicyOption) PolicyOptions;

/* A copy of the settings with "NAME=VALUE" added, replacing an earlier value of that name.
 * ERROR_USAGE if the text is not of this form. Everything is copied to the arena. */
bool policy_settings_with(Arena *arena, const PolicySettings *settings, Str text,
                          PolicySettings *out, Error *err);

/* Both sets in the arena; if both give a value, that of `over` is used. */
PolicySettings policy_settings_merged(Arena *arena, const PolicySettings *settings,
                                      const PolicySettings *over);

/* A copy in the arena. */
PolicySettings policy_settings_copy(Arena *arena, const PolicySettings *settings);

/* The value given for that option; NULL if there is none. */
const char *policy_settings_find(const PolicySettings *settings, const char *name);

/* The option whose name begins with the text, else the option with the most similar name; NULL if
 * there are no options. */
const char *policy_options_nearest(const PolicyOptions *options, Str name);

#endif
