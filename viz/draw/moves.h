/* moves.h - what a plan moves, in sums: a row for every kind of collective and the axes it is over.
 *
 * Counts and times are of one pass over the graph, which label_pass() names: in a loop as often as
 * it runs. The collectives that operators say are inside them count too.
 */
#ifndef VIZ_DRAW_MOVES_H
#define VIZ_DRAW_MOVES_H

#include "viz/draw/draw.h"

typedef struct {
    StepKind kind;
    AtomSet atoms;                   /* the groups; of sends whole axes */
    double n;                        /* how often one runs */
    double us;                       /* of all of them */
    double bytes;                    /* the same: payload of a rank */
    int64_t least_bytes, most_bytes; /* payload of a rank, of one */
    int32_t dearest;                 /* reshard with the longest of them; -1: inside an operator */
    double dearest_us;               /* that step, once */
} Move;

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Intern *keys;
    Vec(Move) at;
} Moves;

Moves moves_new(Arena *arena, const Mesh *mesh);
/* A step that runs so often; of a reshard, or -1. Slices move nothing. */
void moves_add(Moves *moves, int32_t reshard, StepKind kind, AtomSet atoms, int64_t bytes,
               double us, double times);
void moves_add_reshard(Moves *moves, const Plan *plan, int32_t reshard, double times);
/* Of the whole plan, the dearest first. */
Moves moves_of_plan(Arena *arena, const Plan *plan);
void moves_sort(Moves *moves);
double moves_us(const Moves *moves);

bool kind_sends(StepKind kind);           /* from part to part of the mesh */
bool path_moves(const ReshardPath *path); /* it has more than slices */

/* "AR tp". */
void move_format_name(const Mesh *mesh, const Move *move, Buf *out);
/* "12.0 MiB", "2.0 to 12.0 MiB". */
void move_format_bytes(const Move *move, Buf *out);
/* "AR tp 12.0 MiB 0.101 ms"; of several "4 AG dp 0.300 ms", and below it "6.8 MiB each". */
Text moves_format(const Draw *draw, const Moves *moves);

/* A line of the look of the dearest, that says them all. There is one at least. */
DiagramLine moves_line(const Draw *draw, const Moves *moves, int from, int to);

#endif
