/* stage.h - the drawing of stages while it is made. */
#ifndef VIZ_DRAW_STAGE_H
#define VIZ_DRAW_STAGE_H

#include "core/cost/memory.h"
#include "viz/draw/holding.h"
#include "viz/draw/runs.h"

#include "core/plan/stage.h"

/* Stages in a row that are drawn as one: alike, or among very many. */
typedef struct {
    int first, end;
    bool alike;
} StageRow;

typedef struct {
    Draw *draw;
    const Plan *plan;
    const Stages *stages;
    RankMemories ranks;
    Vec(StageRow) rows;
    int *box;      /* per stage */
    RunList *runs; /* per stage */
    int slowest;   /* stage; -1: all take alike */
} StagePicture;

/* The box of the schedule as a table; it has one. */
int stage_draw_schedule(const StagePicture *picture);

#endif
