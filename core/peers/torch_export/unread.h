/* unread.h - parameters that are one tensor, where only their readers tell.
 *
 * torch.export replaces a parameter whose tensor is that of another one by the other, and keeps its
 * name in the signature: a parameter that no node reads. An archive with weights says which two by
 * equal bytes. Without weights it is the one of equal type and sizes that a node in the module of
 * the unread one reads, as lm_head.weight is read in transformer.wte.
 */
#ifndef CORE_PEERS_TORCH_EXPORT_UNREAD_H
#define CORE_PEERS_TORCH_EXPORT_UNREAD_H

#include "core/peers/torch_export/exporting.h"

/* Names of values, and of the parameter that the unread one is. */
typedef struct {
    Str unread, read, name;
} UnreadName;
typedef Vec(UnreadName) UnreadNames;

/* Of the nodes of a graph and the inputs of its signature, in the scratch arena. */
UnreadNames unread_find(Export *e, int32_t graph, int32_t signature);

#endif
