/* training_json.h - the cost of a training step as JSON: "training" of `plan --json`.
 *
 *     {"parameters":..,"model_flops":..,..,"memory":{"rank0":{"parameter":..,..},..},
 *      "layer":{"path":"h.6","n":12,"activation_bytes":..,"forward_us":..,"backward_us":..},
 *      "notes":{"exposed_comm_us":"why it is null"}}
 *
 * Keys are the names of core/cost/training_cost.h, which defines them. Unknown figures are null.
 */
#ifndef CORE_SESSION_TRAINING_JSON_H
#define CORE_SESSION_TRAINING_JSON_H

#include "core/base/json.h"
#include "core/cost/training_cost.h"

Json *training_json(const TrainingCost *cost); /* the caller owns it */

#endif
