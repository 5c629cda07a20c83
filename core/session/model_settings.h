/* model_settings.h - settings (--set NAME=VALUE) that are for a model, its builder or the training
 * step, not for the policy.
 *
 *     attention=eager    the builder: "attn_implementation": "eager" in the config
 *     dropout=0.1        the builder: "training_dropout": 0.1 in the config, the share of each
 *                        dropout of a decoder in training; 0, the default: it has none
 *     capacity=1.25      the builder: "capacity_factor" in the config, how long an expert's queue
 *                        is; dropless: no token is dropped
 *     load=worst         the builder: "expert_load", how tokens spread over experts: balanced,
 *                        worst, or shares 3,1,1,..
 *     layers=4           the builder: "num_hidden_layers": 4 in the config, or what it calls that
 *     precision=bf16     the builder: the type of parameters, as --dtype
 *     parameters=p.*     the graph: inputs with such names are its parameters
 * (core/model/parameters.h) grad_dtype=bf16    the training step: grads=bf16 of --train
 */
#ifndef CORE_SESSION_MODEL_SETTINGS_H
#define CORE_SESSION_MODEL_SETTINGS_H

#include "core/base/json.h"
#include "core/session/policy_options.h"

bool model_setting_is(Str name);

/* The first setting for a builder; NULL if there is none. */
const PolicySetting *model_settings_first(const PolicySettings *settings);
/* The first setting for the policy; NULL if there is none. */
const PolicySetting *policy_settings_first(const PolicySettings *settings);

/* The settings that are not for the policy, in the arena. */
PolicySettings model_settings_only(Arena *arena, const PolicySettings *settings);

/* ERROR_USAGE if one of them has an impossible value. */
bool model_settings_check(const PolicySettings *settings, Error *err);

/* Sets them in the config that a builder receives. Returns a hash of what was set; 0: nothing. */
uint64_t model_settings_apply(const PolicySettings *settings, Json *config);

/* The value of `precision`; NULL if it is not set. */
const char *model_settings_dtype(const PolicySettings *settings);

/* The value of `parameters`; NULL if it is not set. */
const char *model_settings_parameters(const PolicySettings *settings);

/* Appends the words for the training step, such as ",grads=bf16". */
void model_settings_step(const PolicySettings *settings, Buf *out);

#endif
