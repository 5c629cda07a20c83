/* nodes.h - reads the nodes of a graph of the program, one after another. */
#ifndef CORE_PEERS_TORCH_EXPORT_NODES_H
#define CORE_PEERS_TORCH_EXPORT_NODES_H

#include "core/peers/torch_export/exporting.h"

/* Reads all nodes of the current scope. Returns false with an error. */
bool nodes_read(Export *e);
/* Evaluates one node again, for its first result only: a view of a base that has changed. */
ExportTerm node_again(Export *e, int32_t node);

/* The path of the node's module; "" in a backward pass, even if the file repeats the path of the
 * forward pass. */
Str node_module(Export *e, int32_t node);

/* Starts the call of a node: its operator's name and module. */
void call_begin(Call *c, Export *e, int32_t node);

/* Handles operators that run graphs; returns false for other operators, and for those that are kept
 * whole. */
bool nodes_read_control(Call *c);

/* Changes a value in place: all values that share its memory change, too. */
void inplace_change(Call *c, const char *arg, ExportTerm changed);
/* Records that the node's results are views of an argument. */
void inplace_note_view(Call *c);
/* The current value: it is made again if its base has changed. */
ExportTerm inplace_current(Export *e, ExportValue *value);

#endif
