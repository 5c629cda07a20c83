/* step.h - the phases of a joint graph of torch: forward and backward of one trace.
 */
#ifndef CORE_PEERS_TORCH_EXPORT_STEP_H
#define CORE_PEERS_TORCH_EXPORT_STEP_H

#include "core/peers/torch_export/exporting.h"

/* Notes what the node says of its ops, which follow `first_op`: AOTAutograd's partitioner_tag. */
void torch_step_note(Export *e, int32_t node, int32_t first_op);
/* Of a program with outputs that are gradients: graph->stated. */
void torch_step_find(Export *e, int32_t signature, Graph *graph);

#endif
