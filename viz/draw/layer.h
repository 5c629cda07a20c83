/* layer.h - the modules of one repeated layer and the values between them, for the figure of a
 * layer.
 *
 * A module is a set of ops that a reader sees as one thing: a matmul with its weight, a norm,
 * attention, an activation function, a residual add. A view belongs to the module of its input. Ops
 * with one path are one module, unless this would make a cycle of modules.
 */
#ifndef VIZ_DRAW_LAYER_H
#define VIZ_DRAW_LAYER_H

#include "viz/draw/canvas.h"

#include "core/rules/roles.h"

typedef struct {
    const char *title; /* "q_proj"; "+" for an add of two values of the layer */
    int32_t op;        /* its first */
    bool adds;
    const MatmulRole *role; /* of its matmul or convolution; NULL if it has none */
    int rank;               /* one more than the largest rank among the modules that it reads
                               from */
    double from, to;        /* its share of the width, 0 to 1 */
} LayerModule;

/* A value that a module makes and another module, or the next layer, reads. */
typedef struct {
    int32_t tensor;
    int maker; /* -1: it comes from outside */
    bool leaves;
    Vec(int) readers;   /* modules, each once */
    Vec(int32_t) needs; /* the sharding in which each reads it: Shardings ids */
} LayerValue;

typedef struct {
    Draw *draw;
    int n_ops;
    const int32_t *op;        /* ops of the layer that compute and depend on more than parameters */
    int *module_of;           /* per op of the graph: -1 outside */
    Vec(LayerModule) modules; /* in program order */
    Vec(LayerValue) values;
    int n_ranks;
} LayerDrawing;

/* How a line reaches a reader. */
typedef enum { LAYER_STRAIGHT, LAYER_TURN, LAYER_LANE } LayerWay;

/* place: per module, its place across the page. x: where the value comes down from above; if all x
 * are negative, it is not drawn. */
LayerWay layer_way(const LayerDrawing *layer, const DiagramPlace *place, double x, int v,
                   int reader);
/* Per value its lane at the left, counted from 0 next to the modules; -1 if it needs none. Returns
 * how many lanes there are. */
int layer_lanes(const LayerDrawing *layer, const DiagramPlace *place, const double *x, int *lane);
int layer_rank(const LayerDrawing *layer,
               const LayerValue *value); /* of its maker; -1 from outside */

/* The parameter that the matmul or convolution of a module reads; -1 if it is no parameter. turned:
 * it is read as its transpose. */
int32_t layer_weight(const Draw *draw, const LayerModule *module, bool *turned);
/* A rectangle of rows k and columns n, striped by the cuts of both; the shard of the first device
 * has the colour of the axis. */
void layer_put_weight(Canvas *canvas, const LayerModule *module, DiagramPlace at);
/* "4096 x", "14336/tp": rows and columns as the op reads them; before them the experts, "8/ep x";
 * after them the window of a convolution. */
Text layer_weight_text(const Draw *draw, const LayerModule *module);

/* The repeated block that a request names, or the largest; -1 with an error. */
int32_t draw_choose_group(const Draw *draw, Error *err);

/* ops: those of the group, in program order. */
LayerDrawing *layer_of(Draw *draw, int32_t group);

#endif
