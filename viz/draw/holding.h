/* holding.h - texts about devices and what they hold, shared by drawings of the mesh. */
#ifndef VIZ_DRAW_HOLDING_H
#define VIZ_DRAW_HOLDING_H

#include "viz/draw/parts.h"

/* Places one box below another without a visible line. */
void draw_below(Draw *draw, int above, int below);

/* A row of a name and a text; no row if the text is empty. */
void cells_put_fact(Cells *cells, const char *name, Text text);
void cells_put_wide(Cells *cells, CellLook look, int columns, const char *text);

/* "d0 .. d15", "d0 d2 d4": the devices at these mesh positions. */
const char *positions_text(const Draw *draw, const int64_t *position, int64_t n);
const char *part_text(const Draw *draw, SubMesh part);
/* "pp=0", "all" */
const char *part_name_text(const Draw *draw, int devices);
/* "1 device", "16 devices" */
const char *count_text(const Draw *draw, int64_t n, const char *what);
/* "nvlink, 450 GB/s, 1.9 us" */
const char *link_text(const Draw *draw, const Link *link);
/* "peak 998.6 MiB of 80.0 GiB" */
const char *peak_text(const Draw *draw, int64_t peak_bytes);

/* Which of many are drawn: all, or the first and the last with a placeholder between. */
typedef struct {
    int n; /* number drawn, with the placeholder */
    int64_t all;
    int first, last;
} Shown;

/* If there are more than `most`: the first `first` and the last `last`. */
Shown shown_of(int64_t all, int most, int first, int last);
int shown_find(const Shown *shown, int64_t at); /* the place it is drawn at; -1 if it is not */
int64_t shown_at(const Shown *shown, int i);    /* -1: the placeholder */

#endif
