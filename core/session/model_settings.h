/* model_settings.h - settings (--set NAME=VALUE) that the builder of a model takes, not the policy.
 *
 *     attention=eager    "attn_implementation": "eager" in the config
 */
#ifndef CORE_SESSION_MODEL_SETTINGS_H
#define CORE_SESSION_MODEL_SETTINGS_H

#include "core/base/json.h"
#include "core/session/policy_options.h"

bool model_setting_is(const char *name);

/* The first of them; NULL if all settings are the policy's. */
const PolicySetting *model_settings_first(const PolicySettings *settings);
const PolicySetting *policy_settings_first(const PolicySettings *settings); /* the reverse */

/* Sets them in the config that a builder gets. ERROR_USAGE for a value that there is not. *hash
 * becomes 0 if there are none, else a hash of them. */
bool model_settings_apply(const PolicySettings *settings, Json *config, uint64_t *hash, Error *err);

#endif
