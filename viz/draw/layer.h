/* layer.h - the modules of one repeated layer and the values between them, for the figure of a
 * layer.
 *
 * A module is ops that a person sees as one thing: a matmul with its weight, a norm, attention, an
 * activation function, a residual add. Views belong to what they view. Ops of one path are one
 * module as far as that makes no cycle of modules.
 */
#ifndef VIZ_DRAW_LAYER_H
#define VIZ_DRAW_LAYER_H

#include "viz/draw/draw.h"

#include "core/rules/roles.h"

typedef struct {
    const char *title; /* "q_proj"; "+" for an add of two values of the layer */
    int32_t op;        /* its first */
    bool adds;
    const Role *role; /* of its matmul; NULL if it has none */
    int rank;         /* one more than the largest of the modules that it reads from */
    double from, to;  /* share of the width that it has, 0 to 1 */
} LayerModule;

/* A value that a module makes and another one, or the next layer, reads. */
typedef struct {
    int32_t tensor;
    int maker; /* -1: it comes from outside */
    bool leaves;
    Vec(int) readers;   /* modules, each once */
    Vec(int32_t) needs; /* how each reads it: Shardings ids */
} LayerValue;

typedef struct {
    Draw *draw;
    int n_ops;
    const int32_t *op;        /* of the layer, that compute and are not of parameters alone */
    int *module_of;           /* per op of the graph: -1 outside */
    Vec(LayerModule) modules; /* in program order */
    Vec(LayerValue) values;
    int n_ranks;
} Layer;

/* The repeated block that a request names, or the largest; -1 with an error. */
int32_t draw_choose_group(const Draw *draw, Error *err);

/* ops: those of the group, in program order. */
Layer *layer_of(Draw *draw, int32_t group);

#endif
