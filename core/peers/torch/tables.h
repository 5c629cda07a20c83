/* tables.h - functions and tables of this folder that peer.c lists, and what their files share. */
#ifndef CORE_PEERS_TORCH_TABLES_H
#define CORE_PEERS_TORCH_TABLES_H

#include "core/base/eval.h"
#include "core/code/code.h"
#include "core/peers/torch/strategy.h"
#include "core/prove/rule_report.h"
#include "core/reshard/compare.h"
#include "core/session/pins_read.h"

/* The plan as a Python module: code.c, code_spmd.c. */
CodeFn torch_code;       /* in torch's own styles if they express it, else exactly */
CodeFn torch_exact_code; /* placements of all parameters, inputs and modules */
CodeFn vescale_code;
CodeFn spmd_types_code; /* types for the user's own code */

/* Files of PyTorch users that contain shardings: a tp_plan, a checkpoint's metadata, a plan in
 * torch's styles. */
extern const PinsForm torch_pins[];
/* Whether the text is an exported plan in torch's own styles: pins_styles.c. */
bool torch_styles_are(Str text);
bool torch_styles_read(PinsText *text, Scan *scan);

extern const Planner torch_planners[]; /* planners.c: reshards as torch and veScale plan them */

EvalFn eval_redistribute; /* eval_redistribute.c */
EvalFn eval_strategy;     /* eval_strategy.c */
/* [{"placements":["S(0)"]}, null]: null for an output that is no tensor. */
Json *json_of_layouts(const Placement *const *tensor, int n, const Mesh *mesh);

extern const RuleReport torch_reports[]; /* report.c: torch's strategies for `rule` */

#endif
