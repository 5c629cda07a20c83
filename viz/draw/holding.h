/* holding.h - what devices hold, in words that the drawings of places share. */
#ifndef VIZ_DRAW_HOLDING_H
#define VIZ_DRAW_HOLDING_H

#include "viz/draw/parts.h"

/* One box below another, with no line to be seen. */
void draw_below(Draw *draw, int above, int below);

/* A row of a name and what is said of it; nothing where that is empty. */
void cells_put_fact(Cells *cells, const char *name, Text text);
void cells_put_wide(Cells *cells, CellLook look, int columns, const char *text);

/* "d0 .. d15", "d0 d2 d4": the devices at positions of the mesh. */
const char *say_positions(const Draw *draw, const int64_t *position, int64_t n);
const char *say_part(const Draw *draw, SubMesh part);
/* "pp=0", "all" */
const char *say_part_name(const Draw *draw, int devices);
/* "1 device", "16 devices" */
const char *say_count(const Draw *draw, int64_t n, const char *what);
/* "peak 998.6 MiB of 80.0 GiB" */
const char *say_peak(const Draw *draw, int64_t peak_bytes);

/* Which of many are drawn: all, or the first and the last with a place for those between. */
typedef struct {
    int n; /* drawn, with that place */
    int64_t all;
    int first, last;
} Shown;

/* Of more than `most` the first so many and the last. */
Shown shown_of(int64_t all, int most, int first, int last);
int shown_find(const Shown *shown, int64_t at); /* where it is drawn; -1: it is not */
int64_t shown_at(const Shown *shown, int i);    /* -1: those between */

#endif
