/* system_settings.h - translates settings of systems that know no shardings into a shipped policy
 * with options.
 *
 *     --tensor-model-parallel-size 2 --use-distributed-optimizer     Megatron-LM: flags, a script
 *     {"zero_optimization": {"stage": 3}, ..}                        DeepSpeed's configuration
 *     [parallelism]                                                  torchtitan: TOML, or the
 *     tensor_parallel_degree = 2                                     ParallelismConfig of Python
 *
 * Such a file given as --pins selects the policy that shards like the system (fsdp, context,
 * expert, else hybrid3d) and its options; the user's --set takes precedence. The mesh is the
 * user's: its axes tp, pp, cp and ep must have the sizes in the file, and the other axes are data
 * parallel.
 */
#ifndef CORE_SESSION_SYSTEM_SETTINGS_H
#define CORE_SESSION_SYSTEM_SETTINGS_H

#include "core/session/session.h"

bool system_settings_are(Str text);

/* Call it before the model is loaded: if options.pins is such a file, sets the policy and its
 * options. A policy that the user gives takes precedence. ERROR_UNREADABLE: a value is malformed,
 * or contradicts the mesh. */
bool system_settings_take(Session *session, Error *err);

/* Adds notes to session->notes: how the file was understood, and what it does not say. */
bool system_settings_note(Session *session, const Source *source, Error *err);

/* "1F1B" for "1f1b": torchtitan's name of a schedule, which is the name of torch's class after
 * "Schedule"; "" if torch has no such schedule. */
Str torch_schedule(Str schedule);

#endif
