/* system_settings.h - settings of systems that know no shardings as a shipped policy with options.
 *
 *     --tensor-model-parallel-size 2 --use-distributed-optimizer     Megatron-LM: flags, a script
 *     {"zero_optimization": {"stage": 3}, ..}                        DeepSpeed's configuration
 *     [parallelism]                                                  torchtitan: TOML, or the
 *     tensor_parallel_degree = 2                                     ParallelismConfig of Python
 *
 * Such a file given as --pins chooses the policy that shards as the system does (fsdp, context,
 * expert, else hybrid3d) and its options; --set of the user holds over them. The mesh is the
 * user's: its axes tp, pp, cp and ep have the sizes of the file, and the others share the data.
 */
#ifndef CORE_SESSION_SYSTEM_SETTINGS_H
#define CORE_SESSION_SYSTEM_SETTINGS_H

#include "core/session/session.h"

bool system_settings_are(Str text);

/* Before the model is loaded: if options.pins is such a file, takes its policy and options. Another
 * policy that the user gives is used in its place. ERROR_UNREADABLE: a value that is none, or that
 * the mesh contradicts. */
bool system_settings_take(Session *session, Error *err);

/* Adds to session->notes what the file was taken for, and what it does not say. */
bool system_settings_note(Session *session, const Source *source, Error *err);

/* "1F1B" of "1f1b": a schedule in the words of torchtitan, which are the names of torch's classes
 * behind "Schedule"; "" if torch has none such. */
Str torch_schedule(Str schedule);

#endif
