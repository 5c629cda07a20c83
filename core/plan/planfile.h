/* planfile.h - plan.json: decisions only, versioned; --full adds the derived columns.
 *
 * {"dimscope_plan":1,"model":PATH relative to the plan file,"model_hash":HEX,"dims":{..},
 *  "mesh":"dp=2,tp=4","machine":"h100x8","policy":PATH or null,"propagate":"factor",
 *  "decisions":[{"kind":"pin","tensor":NAME,"dim":0,"cut":"8/dp","store":false,"open":false,
 *                "origin":{"kind":"policy","file":..,"line":..,"text":..}} |
 * {.."op":NAME,"index":"k"..}]}
 */
#ifndef CORE_PLAN_PLANFILE_H
#define CORE_PLAN_PLANFILE_H

#include "core/base/json.h"
#include "core/plan/session.h"

bool planfile_save(const Session *session, const char *path, bool full, Error *err);

/* What a plan file asks to be opened: model path (relative to the file resolved), mesh, dims... */
bool planfile_options(Arena *arena, const char *path, SessionOptions *options, Json **root,
                      Error *err);
/* Its decisions onto the journal; names that the model has no longer become findings-like notes. */
bool planfile_decisions(Session *session, const Json *root, Journal *journal, Error *err);

/* The JSON of `dimscope plan --json` (fields: DESIGN section 6). The caller frees it. */
Json *plan_json(const Session *session);

#endif
