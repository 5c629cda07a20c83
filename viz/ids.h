/* ids.h - the ids of boxes, frames and lines in DOT and SVG.
 *
 * They are derived from what a box stands for, "transformer.h.0.mlp.c_fc-Gemm", not from its index:
 * equal things have equal ids in drawings of two plans. Ids consist of letters, digits, '.', '_'
 * and '-', so in CSS only the dot has to be escaped.
 */
#ifndef VIZ_IDS_H
#define VIZ_IDS_H

#include "core/base/intern.h"
#include "viz/diagram.h"

/* Gives every box, frame and line a unique id. The diagram's arrays are written. */
void diagram_name_all(Arena *arena, Diagram *diagram);

/* All ids: the numbers of boxes, then of frames, then of lines. */
Intern *diagram_ids(Arena *arena, const Diagram *diagram);

#endif
