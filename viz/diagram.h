/* diagram.h - what a drawing shows, before any Graphviz: boxes and the values between them.
 *
 * overview  groups only: a repeated block is one box "h x12" with the collectives of one member;
 * ops beside it stand in runs. At most DIAGRAM_NODES_MAX boxes. block     one repeated block in
 * full, a box per op; what comes from outside is a plain box.
 */
#ifndef VIZ_DIAGRAM_H
#define VIZ_DIAGRAM_H

#include "core/plan/session.h"

enum { DIAGRAM_NODES_MAX = 400 };

typedef enum { DIAGRAM_OVERVIEW, DIAGRAM_BLOCK, DIAGRAM_KIND_COUNT } DiagramKind;

const char *diagram_kind_name(DiagramKind kind);

typedef struct {
    const char *title;    /* "mlp.c_fc", "h x12" */
    const char *operator; /* "Gemm", "38 ops" */
    const char *flow;     /* "8/dp,1024,768 -> 8/dp,1024,3072/tp" */
    const char *figures;  /* "0.12 ms  24.0 MiB"; for groups also "2 AR tp" */
    const char *why;      /* tooltip: the first pin it depends on; "" */
    bool outside, repeated;
} DiagramNode;

typedef struct {
    int from, to;
    int axis;      /* of the reshard, -1: data stays */
    StepKind kind; /* of its first step that moves data */
    int64_t bytes;
    const char *label; /* "AR tp 12.0 MiB 0.101 ms"; "" */
    bool partial;      /* the value is partial on the way */
} DiagramEdge;

typedef struct {
    const char *title;
    int n_nodes, n_edges;
    DiagramNode *nodes;
    DiagramEdge *edges;
    const char *legend; /* lines: axes, marks, mesh, model, machine */
} Diagram;

/* NULL when there is nothing of the kind: a block in a model without repetition. */
Diagram *diagram_make(Arena *arena, const Session *session, DiagramKind kind, Error *err);

#endif
