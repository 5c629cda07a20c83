/* planfile.h - plan.json: decisions only, versioned; --full adds what follows from them.
 *
 *     {"dimscope_plan":1, "model":PATH, "model_hash":HEX, "dims":{"batch":8}, "mesh":"dp=2,tp=4",
 *      "machine":NAME or PATH, "policy":NAME, PATH or null, "propagate":"factor",
 *      "decisions":[
 *        {"kind":"pin", "tensor":NAME, "dim":0, "cut":"8/dp", "store":false, "open":false,
 *         "origin":{"kind":"policy", "file":PATH, "line":14, "text":"graph:shard(..)"}},
 *        {"kind":"unpin", "op":NAME, "index":"k", "origin":..}],
 *      "derived":{..}}                                 the last with --full: the form of
 * plan_json()
 *
 * Paths are relative to the plan file's folder. Names, not ids, so that a plan outlives its model:
 * what the model or the mesh has no longer is left out, with a finding each, and the rest is kept.
 */
#ifndef CORE_PLAN_PLANFILE_H
#define CORE_PLAN_PLANFILE_H

#include "core/base/json.h"
#include "core/plan/session.h"

bool planfile_save(const Session *session, const char *path, bool full, Error *err);

/* What a plan file asks to be opened; paths are resolved, dims are appended. It must name a model
 * where options->model was set. *root is freed by the caller; NULL on failure. ERROR_UNREADABLE: no
 * plan, or one of another version. */
bool planfile_options(Arena *arena, const char *path, SessionOptions *options, Json **root,
                      Error *err);
/* Its decisions onto the journal. What does not fit the session's model and mesh becomes a warning
 * among session->notes, another hash of the model a note. */
bool planfile_decisions(Session *session, const Json *root, Journal *journal, Error *err);

/* The JSON of `dimscope plan --json`. In a tensor's "shape" a size that is not known is null; its
 * "sharding" and what follows from it are then null as a whole. An op and a reshard in a loop have
 * "times": how often a step does them; "totals" counts that, "steps" are one time. The caller frees
 * it. */
Json *plan_json(const Session *session);

#endif
