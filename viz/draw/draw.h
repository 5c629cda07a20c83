/* draw.h - what all kinds of drawings share: a diagram under construction, and texts.
 *
 * A kind is a function declared here, in its own file or with similar kinds, and a row in
 * viz/diagram.c.
 */
#ifndef VIZ_DRAW_DRAW_H
#define VIZ_DRAW_DRAW_H

#include "viz/diagram.h"

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/plan/edges.h"

typedef struct {
    Arena *arena;
    const DiagramRequest *request;
    const Session *session; /* of the request */
    const Plan *plan;
    const Graph *graph;
    const Groups *groups;
    Diagram *diagram; /* the kind sets title, says, sideways and fold */
    Vec(DiagramBox) boxes;
    Vec(DiagramFrame) frames;
    Vec(DiagramLine) lines;
    int32_t *box_of;  /* per op: its box, or -1 */
    int32_t *outside; /* per tensor: 1 + the box of a value from outside; 0 if none yet */
    ReshardIndex reshards;
    Intern *pairs; /* lines drawn so far: equal ones are drawn once */
    bool *inside;  /* per op: scratch of draw_part_flow() */
    bool *reached; /* per reshard: draw_value_lines() has drawn it */
    int32_t *moves_of,
        *next_move; /* lists of reshards (1 + index, 0 at the end): per op those of values it makes
                       or is the first to read; see draw_index_moves() */
} Draw;

/* A line or a frame with the defaults of its look, for the caller to fill and add. */
DiagramLine draw_new_line(LineLook look, int from, int to);
DiagramFrame draw_new_frame(FrameLook look, const char *title, const char *why, int parent);
int draw_box(Draw *draw, DiagramBox box); /* return its number */
int draw_frame(Draw *draw, DiagramFrame frame);
void draw_line(Draw *draw, DiagramLine line);

/* ---- the subject of a request ---- */

/* An op by its name, by a tensor that it makes, or by a module's path: then the last op of the
 * module that takes time. Returns -1; the error has the nearest name. */
int32_t draw_find_op(const Draw *draw, const char *name, Error *err);
/* A tensor by its name or by PATH.part. */
int32_t draw_find_tensor(const Draw *draw, const char *name, Error *err);

/* ---- texts, in the arena ---- */

/* "8/dp,1024,768"; without a sharding, what is known of its shape. */
Text draw_value(const Draw *draw, int32_t tensor, int32_t sharding);
/* "8/dp,1024,768 -> 8/dp,1024,3072/tp": an op's first input that is neither parameter nor constant,
 * in the sharding it is read with, and its first output; below them "with 8/dp,1,1024,1024", the
 * next such input with another sharding. */
Text draw_flow(const Draw *draw, int32_t op);
/* "8/dp,1024 -> 8/dp,1024,768": for a part of the graph, given as ops in program order: the first
 * value that it reads from outside and its output for other ops. */
Text draw_part_flow(Draw *draw, const int32_t *op, int n);
/* The sharding in which a value is made, or given: Shardings id. */
int32_t draw_made(const Draw *draw, int32_t tensor);
/* The name by label.h; a value computed from parameters only has the name of its op. */
const char *draw_tensor_name(const Draw *draw, int32_t tensor);
/* "weight 768,3072/tp  2.2 MiB", "bias 3072/tp": one line for each parameter of an op, with the
 * sharding that the op reads; without those that are moved to it, which draw_value_lines() draws as
 * boxes. */
Text draw_parameters(const Draw *draw, int32_t op);
/* "AR tp 12.0 MiB 0.101 ms": a line for each step that communicates. */
Text draw_steps(const Draw *draw, const ReshardPath *path);
/* A line for each axis that shards an op: the pin that causes it, with its policy line; NULL if
 * none does. */
const char *draw_cause(const Draw *draw, int32_t op);
/* The pin that causes a reshard, or the sharding that the reader needs. */
const char *draw_moved_why(const Draw *draw, const Reshard *reshard);

/* ---- what ops move: sums and texts ---- */

/* Collectives of one kind over the same axes, each counted as often as a step runs it. */
typedef struct {
    StepKind kind;
    AtomSet atoms;
    double count, us;
} DrawMove;
typedef Vec(DrawMove) DrawMoves;

void draw_index_moves(Draw *draw); /* call this before the functions below */
/* Adds the collectives of the values that the op makes or is the first to read, and those inside
 * it. Summed over all ops of the program these are all collectives of the plan. */
void draw_sum_moves(const Draw *draw, int32_t op, DrawMoves *moves);
void draw_add_reshard(const Draw *draw, const Reshard *reshard, DrawMoves *moves);
double draw_moves_us(const DrawMoves *moves);
/* "24 all-gathers, 24 reduce-scatters over tp"; if there are many kinds, the most expensive one and
 * the number of others. */
Text draw_moves_text(const Draw *draw, const DrawMoves *moves);
/* "a step takes 15.8 ms, 1.95 ms of that in 24 all-reduces over tp; a device needs at most 1.1
 * GiB": the totals of the plan. */
Text draw_totals_text(const Draw *draw);
/* Breaks lines after commas where they are too long for a box. */
Text draw_wrapped(const Draw *draw, Text text);
const char *draw_us(const Draw *draw, double us);
const char *draw_bytes(const Draw *draw, int64_t bytes);

/* ---- boxes and lines of ops ---- */

/* Adds the box of an op, named by its path below `inside`. */
int draw_op(Draw *draw, int32_t op, const char *inside, int frame);
/* The box of a value from outside the part that is drawn. */
int draw_outside(Draw *draw, int32_t tensor);
/* Draws the lines between all ops that have boxes, each collective once; if asked, with boxes for
 * values from outside and for parameters that are moved. A value with more than DRAW_READERS_MAX
 * readers is named beside them instead of having lines. Ops in BOX_OUTSIDE have no lines between
 * each other. */
enum { DRAW_READERS_MAX = 30 };
void draw_value_lines(Draw *draw, bool with_outside);
/* The same between boxes of many ops: at most two lines between two boxes, one of them for all that
 * is moved. Graph inputs and outputs are boxes, at most given_max of each. */
void draw_group_lines(Draw *draw, int given_max);
/* The last reshard that moves data before a reader that needs the value in this sharding; -1 if the
 * reader takes it as it is made. Also sets what that reshard starts from. */
int32_t draw_reshard_for(const Draw *draw, int32_t tensor, int32_t need, int devices);
int32_t draw_reshard_before(const Draw *draw, int32_t state);
bool draw_is_moved(const Draw *draw, const Reshard *reshard); /* false for a slice */
bool draw_is_fetched(const Draw *draw, int32_t tensor);       /* it is moved to some reader */
/* The line for the value that a reshard moves. */
DiagramLine draw_moved_line(const Draw *draw, int from, int to, const Reshard *reshard);

/* ---- the kinds; each returns false with an error of diagram_make() ---- */

bool draw_overview(Draw *draw, Error *err);
bool draw_block(Draw *draw, Error *err);
bool draw_layer(Draw *draw, Error *err);
bool draw_neighbourhood(Draw *draw, Error *err);
bool draw_index_space(Draw *draw, Error *err);
bool draw_slices(Draw *draw, Error *err);
bool draw_devices(Draw *draw, Error *err);
bool draw_stages(Draw *draw, Error *err);
bool draw_schedule(Draw *draw, Error *err);
bool draw_memory(Draw *draw, Error *err);
bool draw_step_memory(Draw *draw, Error *err);
bool draw_frontier(Draw *draw, Error *err);
bool draw_mesh(Draw *draw, Error *err);
bool draw_torus(Draw *draw, Error *err);
bool draw_comm(Draw *draw, Error *err);
bool draw_reshard(Draw *draw, Error *err);
bool draw_why(Draw *draw, Error *err);
bool draw_diff(Draw *draw, Error *err);

#endif
