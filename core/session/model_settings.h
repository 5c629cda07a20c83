/* model_settings.h - settings (--set NAME=VALUE) that a model, its builder or the training step
 * takes, not the policy.
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

/* The first that a builder takes; NULL if there is none. */
const PolicySetting *model_settings_first(const PolicySettings *settings);
/* The first of the policy's own; NULL if there is none. */
const PolicySetting *policy_settings_first(const PolicySettings *settings);

/* Those that are not the policy's, in the arena. */
PolicySettings model_settings_only(Arena *arena, const PolicySettings *settings);

/* ERROR_USAGE for a value that one of them cannot have. */
bool model_settings_check(const PolicySettings *settings, Error *err);

/* Sets them in the config that a builder gets. Returns a hash of what it set; 0: nothing. */
uint64_t model_settings_apply(const PolicySettings *settings, Json *config);

/* The value of `precision`; NULL if it is not set. */
const char *model_settings_dtype(const PolicySettings *settings);

/* The value of `parameters`; NULL if it is not set. */
const char *model_settings_parameters(const PolicySettings *settings);

/* Appends ",grads=bf16": a word for each that the training step takes. */
void model_settings_step(const PolicySettings *settings, Buf *out);

#endif
