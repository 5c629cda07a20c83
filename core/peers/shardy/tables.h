/* tables.h - functions and tables of this folder that peer.c lists. */
#ifndef CORE_PEERS_SHARDY_TABLES_H
#define CORE_PEERS_SHARDY_TABLES_H

#include "core/base/eval.h"
#include "core/code/code.h"
#include "core/rules/registry.h"
#include "core/session/pins_read.h"

EvalFn eval_factor_rule;                           /* eval_factor.c */
EvalFn eval_factor_propagate, eval_factor_origins; /* eval_shardy.c */
EvalFn eval_insert;                                /* eval_insert.c */
EvalFn eval_reshard;                               /* eval_reshard.c */

StepCodeFn shardy_step;                      /* the part of a training step that it can express */
CodeFn shardy_code;                          /* code.c: the plan as MLIR with sdy shardings */
extern const PinsForm shardy_pins[];         /* pins.c: shardings read from an MLIR module */
extern const Operator operators_stablehlo[]; /* stablehlo.c */

#endif
