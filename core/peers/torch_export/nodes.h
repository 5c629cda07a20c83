/* nodes.h - reads the nodes of a graph of the program, one after the other. */
#ifndef CORE_PEERS_TORCH_EXPORT_NODES_H
#define CORE_PEERS_TORCH_EXPORT_NODES_H

#include "core/peers/torch_export/exporting.h"

/* Reads all nodes of the present scope. Returns false with an error. */
bool nodes_read(Export *e);
/* Reads one node again, for its first result alone: what a view is of its changed base. */
ExportTerm node_again(Export *e, int32_t node);

/* The path of the node's module; "" of a backward pass, whether the file repeats that of the
 * forward pass or not. */
Str node_module(Export *e, int32_t node);

/* The call of a node: its operator's name and module. */
void call_begin(Call *c, Export *e, int32_t node);

/* Operators that run graphs: false if it is none of them, or one that is not taken apart. */
bool nodes_read_control(Call *c);

/* The value changed in place: all that share its memory do so too. */
void inplace_change(Call *c, const char *arg, ExportTerm changed);
/* Remembers that the node's results are views of an argument. */
void inplace_note_view(Call *c);
/* The value as it is now: made again if what it is a view of has changed. */
ExportTerm inplace_current(Export *e, ExportValue *value);

#endif
