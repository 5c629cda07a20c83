/* unread.h - finds which parameters are one tensor, from their readers.
 *
 * If two parameters share a tensor, torch.export replaces one by the other but keeps its name in
 * the signature: a parameter that no node reads. If the archive has weights, equal bytes identify
 * the other one. Without weights it is the parameter of equal type and sizes that is read by a node
 * in the module of the unread one: lm_head.weight is found for transformer.wte.
 */
#ifndef CORE_PEERS_TORCH_EXPORT_UNREAD_H
#define CORE_PEERS_TORCH_EXPORT_UNREAD_H

#include "core/peers/torch_export/exporting.h"

/* Names of values, and of the parameter that the unread one is. */
typedef struct {
    Str unread, read, name;
} UnreadName;
typedef Vec(UnreadName) UnreadNames;

/* Examines the nodes of a graph and the inputs of its signature; the result is in the scratch
 * arena. */
UnreadNames unread_find(Export *e, int32_t graph, int32_t signature);

#endif
