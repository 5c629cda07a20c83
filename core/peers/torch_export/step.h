/* step.h - the phases of a joint graph of torch: forward and backward in one trace. */
#ifndef CORE_PEERS_TORCH_EXPORT_STEP_H
#define CORE_PEERS_TORCH_EXPORT_STEP_H

#include "core/peers/torch_export/exporting.h"

/* Records the phase that the node gives its ops, from `first_op` on: AOTAutograd's partitioner_tag.
 */
void torch_step_note(Export *e, int32_t node, int32_t first_op);
/* For a program whose outputs are gradients: sets graph->stated. */
void torch_step_find(Export *e, int32_t signature, Graph *graph);

#endif
