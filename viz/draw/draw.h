/* draw.h - what the kinds of drawings share while they make one: a diagram that grows, and texts.
 *
 * A kind is a function here, in a file of its own or with its like, and a row in viz/diagram.c.
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
    const Session *session; /* the request's */
    const Plan *plan;
    const Graph *graph;
    const Groups *groups;
    Diagram *diagram; /* title, says, sideways, fold: the kind's to set */
    Vec(DiagramBox) boxes;
    Vec(DiagramFrame) frames;
    Vec(DiagramLine) lines;
    int32_t *box_of;  /* per op: box, or -1 */
    int32_t *outside; /* per tensor: 1 + the box of what comes from outside; 0 */
    ReshardIndex reshards;
    Intern *pairs;                 /* lines drawn: equal ones are drawn once */
    bool *reached;                 /* per reshard: draw_value_lines() has met it */
    int32_t *moves_of, *next_move; /* per op, per reshard: 1 + the reshards of what the op makes, or
                                      first reads of what is given; draw_index_moves() */
} Draw;

/* A box, a frame or a line of the looks' defaults, to be filled and added. */
DiagramBox draw_new_box(BoxLook look, const char *title);
DiagramLine draw_new_line(LineLook look, int from, int to);
int draw_box(Draw *draw, DiagramBox box); /* its number */
int draw_frame(Draw *draw, DiagramFrame frame);
void draw_line(Draw *draw, DiagramLine line);

/* ---- what a request is of ---- */

/* An op by its name, a tensor it makes, or its path: of a module the last op that takes time. -1
 * with the nearest name. */
int32_t draw_find_op(const Draw *draw, const char *name, Error *err);
/* A tensor by its name or PATH.part. */
int32_t draw_find_tensor(const Draw *draw, const char *name, Error *err);

/* ---- texts, in the arena ---- */

/* "8/dp,1024,768"; what is known of its shape where it has no sharding. */
Text draw_value(const Draw *draw, int32_t tensor, int32_t sharding);
/* "8/dp,1024,768 -> 8/dp,1024,3072/tp": an op's first input that is neither parameter nor constant,
 * as it is read, and its first output; below it "with 8/dp,1,1024,1024", the next such that lies
 * otherwise. */
Text draw_flow(const Draw *draw, int32_t op);
/* As label.h has it; what is made of parameters alone is called as its op. */
const char *draw_tensor_name(const Draw *draw, int32_t tensor);
/* "weight 768,3072/tp  2.2 MiB", "bias 3072/tp": as an op reads them, lines; not those that are
 * moved to it, which draw_value_lines() shows as boxes. */
Text draw_parameters(const Draw *draw, int32_t op);
/* "AR tp 12.0 MiB 0.101 ms", a line a step that communicates. */
Text draw_steps(const Draw *draw, const ReshardPath *path);
/* The first cause of an op's cut, with its policy line; NULL. */
const char *draw_cause(const Draw *draw, int32_t op);
/* The pin behind a reshard, or what the reader needs. */
const char *draw_moved_why(const Draw *draw, const Reshard *reshard);

/* ---- what ops move, in sums and words ---- */

/* Collectives of one kind over the same axes, as often as a step does them. */
typedef struct {
    StepKind kind;
    AtomSet atoms;
    double count, us;
} DrawMove;
typedef Vec(DrawMove) DrawMoves;

void draw_index_moves(Draw *draw); /* before the first of these */
/* Adds those of what the op makes, of what it is given as the first, and inside of it: over all ops
 * of the program they are all of the plan's. */
void draw_sum_moves(const Draw *draw, int32_t op, DrawMoves *moves);
void draw_add_reshard(const Draw *draw, const Reshard *reshard, DrawMoves *moves);
double draw_moves_us(const DrawMoves *moves);
/* "24 all-gathers, 24 reduce-scatters over tp"; of many kinds the dearest, and how many others. */
Text draw_say_moves(const Draw *draw, const DrawMoves *moves);
/* "a step takes 15.8 ms, of it 1.95 ms in 24 all-reduces over tp; a device needs at most 1.1 GiB":
 * the plan's totals. */
Text draw_say_totals(const Draw *draw);
/* Lines no longer than boxes have room for, broken behind commas. */
Text draw_wrapped(const Draw *draw, Text text);
const char *draw_us(const Draw *draw, double us);
const char *draw_bytes(const Draw *draw, int64_t bytes);

/* ---- boxes and lines of ops ---- */

/* An op by its path below `inside`. It is its op's box from then on. */
int draw_op(Draw *draw, int32_t op, const char *inside, int frame);
/* The box of a value that comes from outside of what is drawn. */
int draw_outside(Draw *draw, int32_t tensor);
/* Lines between all ops that have boxes, each collective once; with boxes for what comes from
 * outside, and for parameters that are moved, where asked. Beyond DRAW_READERS_MAX boxes that read
 * a value its name stands beside them instead. Boxes of ops that are BOX_OUTSIDE have no lines
 * among themselves. */
enum { DRAW_READERS_MAX = 30 };
void draw_value_lines(Draw *draw, bool with_outside);
/* The same between boxes of many ops: at most two lines from box to box, one for all that is moved.
 * Inputs and outputs of the graph are boxes, at most given_max of each. */
void draw_group_lines(Draw *draw, int given_max);
/* How a value lies for who needs it so: the reshard that brings it, the last that moves data; -1:
 * as its maker leaves it. And what that one begins with. */
int32_t draw_brought_by(const Draw *draw, int32_t tensor, int32_t need, int devices);
int32_t draw_brought_before(const Draw *draw, int32_t state);
bool draw_is_moved(const Draw *draw, const Reshard *reshard); /* not only sliced */
bool draw_is_fetched(const Draw *draw, int32_t tensor);       /* moved to some reader */
/* The line of what a reshard moves. */
DiagramLine draw_moved_line(const Draw *draw, int from, int to, const Reshard *reshard);

/* ---- the kinds: false with an error as diagram_make() ---- */

bool draw_overview(Draw *draw, Error *err);
bool draw_block(Draw *draw, Error *err);
bool draw_neighbourhood(Draw *draw, Error *err);
bool draw_index_space(Draw *draw, Error *err);
bool draw_slices(Draw *draw, Error *err);
bool draw_devices(Draw *draw, Error *err);
bool draw_stages(Draw *draw, Error *err);
bool draw_mesh(Draw *draw, Error *err);
bool draw_comm(Draw *draw, Error *err);
bool draw_reshard(Draw *draw, Error *err);
bool draw_why(Draw *draw, Error *err);
bool draw_diff(Draw *draw, Error *err);

#endif
