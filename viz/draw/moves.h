/* moves.h - the communication of a plan in sums: one row for each kind of collective and its axes.
 *
 * Counts and times are for one pass over the graph, which label_pass() names; loops count with all
 * iterations. Collectives that operators declare inside themselves count too.
 */
#ifndef VIZ_DRAW_MOVES_H
#define VIZ_DRAW_MOVES_H

#include "viz/draw/draw.h"

typedef struct {
    StepKind kind;
    AtomSet atoms;                   /* axes of the groups; for sends whole axes */
    double n;                        /* number of runs */
    double us;                       /* time of all runs */
    double bytes;                    /* payload of one rank, over all runs */
    int64_t least_bytes, most_bytes; /* payload of one rank in one run */
    int32_t dearest;   /* the reshard with the most expensive step; -1 if that is inside an
                          operator */
    double dearest_us; /* time of that step in one run */
} DrawnMove;

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Intern *keys;
    Vec(DrawnMove) at;
} Moves;

Moves moves_new(Arena *arena, const Mesh *mesh);
/* Adds n runs of a step of a reshard (-1 if it is inside an operator). Slices are ignored. */
void moves_add(Moves *moves, int32_t reshard, StepKind kind, AtomSet atoms, int64_t bytes,
               double us, double times);
void moves_add_reshard(Moves *moves, const Plan *plan, int32_t reshard, double times);
/* The communication of the whole plan, the most expensive first. */
Moves moves_of_plan(Arena *arena, const Plan *plan);
void moves_sort(Moves *moves);
double moves_us(const Moves *moves);

bool kind_sends(StepKind kind);           /* between two parts of the mesh */
bool path_moves(const ReshardPath *path); /* it has a step that is not a slice */

/* "AR tp". */
void move_format_name(const Mesh *mesh, const DrawnMove *move, Buf *out);
/* "12.0 MiB", "2.0 to 12.0 MiB". */
void move_format_bytes(const DrawnMove *move, Buf *out);
/* "AR tp 12.0 MiB 0.101 ms"; for several "4 AG dp 0.300 ms", and below it "6.8 MiB each". */
Text moves_format(const Draw *draw, const Moves *moves);

/* The same for those over exactly these atoms; "nothing moves". */
Text moves_over_text(const Draw *draw, const Moves *moves, AtomSet atoms);

/* One line for all of them, with the look of the most expensive one; there must be at least one. */
DiagramLine moves_line(const Draw *draw, const Moves *moves, int from, int to);

#endif
