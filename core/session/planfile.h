/* planfile.h - plan.json: decisions only, versioned; --full adds what follows from them.
 *
 *     field           what it is                                              when it is absent
 *     dimscope_plan   2: the version; 1 is read too, a newer one is an error  an error
 *     model           path of the .onnx                                       an error, but in pins
 *     model_hash      of its bytes, 16 hex digits                             not compared
 *     dims            {"batch":8}: sizes, in elements, of free dims           those of MODEL.dims
 *     config          path of the .json that a .lua model gets                none
 *     dtype           "bf16": type of parameters that the model gives none    that of the config
 *     mesh            "dp=2,tp=4"                                             "x=1"
 *     machine         name of a shipped one, or a path                        "h100x8"
 *     policy          name or path of what decided; null                      none
 *                     (when its file is gone: a warning, the decisions are here)
 *     policy_options  {"micro_batches":"8"}: values of the policy's options   their defaults
 *     propagate       a propagator (core/propagate/propagators.h)             "factor"
 *     profile         one of the propagator's: "explain", "shardy"            its first
 *     fuse            "attention": fused before planning (core/fuse/fuse.h)  nothing
 *     train           "adamw,clip=1": the step (core/step/optimizer.h)        the forward pass
 * alone no_redistribute of strategy: what an op would have to move is an error  false decisions a
 * list, in the order in which they were made            an error derived         with --full only:
 * plan_json(); not read
 *
 * A decision has a "kind" and what that needs, all of it required but for what is in brackets:
 *
 *     pin         "tensor":NAME, "dim":0 or "op":NAME, "index":"k"; "cut":"8/dp" (cut.h)
 *                 ["store":false, "keep":false, "open":false, "priority":0]
 *     unpin       "tensor", "dim" or "op", "index": takes the pin away
 *     replicated  "tensor", "axes":["dp"]      axes that cut no dim of it
 *     unreduced   "tensor", "axes":["tp"]      axes it stays partial over
 *     tie         "tensor", "group":"blocks"   tensors of one group have one sharding
 *     barrier     "tensor", "pass":"forward"   or "backward" or "none": where axes pass it to
 *     unmark      "tensor": takes the four above away
 *     stage       "op": the first of a stage ["relay":false]
 *     devices     "op", "last", "devices":"pp=0"   ops from the one to the other run there; "": on
 *                 all devices
 *     recompute   "op", "last" ["number":0]    a group of ops computed again in the backward pass
 *     schedule    "schedule":"1f1b", "micro_batches":4, "pass":"both" if traffic of parameters
 *                 runs beside the ops of that pass
 *     assume      "pattern":"*~grad", "as":"reduced", "axes":["tp"]   what values are taken to be
 *     [origin]    {"kind":"policy", "file":PATH, "line":14, "text":"graph:shard(..)"}; "user" and
 *                 "search" have no file. Absent: the user, in the plan file itself.
 *
 * Paths are relative to the plan file's folder. Names are used, not ids, so that a plan outlives
 * its model: what the model or the mesh no longer has is left out, with a finding for each, and the
 * rest is kept. A cut in one piece is applied to a dim whose size has changed, with a note. Unknown
 * fields are ignored and not saved again; a note names them. A file is written whole or not at all.
 */
#ifndef CORE_SESSION_PLANFILE_H
#define CORE_SESSION_PLANFILE_H

#include "core/base/json.h"
#include "core/session/session.h"

enum { PLANFILE_VERSION = 2, PLANFILE_OLDEST = 1 };

/* A plan file that has been read. */
typedef struct {
    Json *root; /* freed by planfile_close(); NULL if there is none */
    const char *path;
    const int *line; /* per decision: its offset in the file; 0 if not found */
} PlanFile;

/* Reads the part of a plan file that says what to open; paths are resolved, dims are appended. It
 * must name a model, unless options->model is set. Texts are in the arena. ERROR_UNREADABLE if the
 * file is no plan, or has a newer version; then nothing has to be closed. */
bool planfile_open(Arena *arena, const char *path, SessionOptions *options, PlanFile *out,
                   Error *err);
void planfile_close(PlanFile *file);

/* Appends its decisions to the journal. Decisions that do not fit the session's model and mesh
 * become warnings in session->notes; a different hash of the model, unknown fields and dims of
 * other sizes become notes. */
void planfile_decisions(Session *session, const PlanFile *file, Journal *journal);

/* Appends the user's decisions in `from` to the journal of `to`, another session; they are matched
 * by name, as in a file. What does not fit becomes a warning there. */
void planfile_carry(const Session *from, Session *to, Journal *journal);
Json *planfile_decision(Arena *scratch, const Session *session, const Decision *decision);

/* A hash of everything the plan is made from: model, mesh, machine, propagator, sizes of free dims,
 * decisions. It does not depend on paths or on who made a decision, and is the same in every run.
 */
uint64_t planfile_hash(const Session *session);

bool planfile_save(const Session *session, const char *path, bool full, Error *err);

const char *origin_kind_name(OriginKind kind); /* "policy" */

/* The JSON of `dimscope plan --json`. In a tensor's "shape" an unknown size is null; its "sharding"
 * and everything that depends on it is then null. An op and a reshard in a loop have "times": how
 * often a step runs them; "totals" include that, "steps" are one run. "memory" is that of the
 * "rank" that needs most, while the op "at" runs: "peak_bytes"; of them "padding_bytes", and by
 * "classes"; what is "live", the largest first, "from" the op that makes it (null: there before)
 * "to" the last one that reads it (null: to the end); "init": "parts_bytes", "cut_bytes" (reached
 * at the parameter "largest"), "whole_bytes", all as memory.h says.
 *
 * A plan with stages says of each op its "stage" and its "devices" ("pp=0", "" for all), and has
 * "stages", from the op "first" to "last", with times as stage.h says, and the "schedule": its
 * "name" or its steps written out, "us", the share of waiting as "bubble" and as it would be of
 * equal stages, "even_bubble", and its "blocks" where there are no more than 10000; null: it does
 * not fit the stages. A "backward_us" follows from the forward: there is no backward graph. The
 * caller frees it. */
Json *plan_json(const Session *session);
Json *plan_totals_json(const Totals *totals); /* its "totals" */

#endif
