/* stage.h - state shared by the files that draw pipeline stages. */
#ifndef VIZ_DRAW_STAGE_H
#define VIZ_DRAW_STAGE_H

#include "core/cost/memory.h"
#include "viz/draw/holding.h"
#include "viz/draw/runs.h"

#include "core/plan/stage.h"

/* Consecutive stages that are drawn as one: equal ones, or those left out of very many. */
typedef struct {
    int first, end;
    bool alike; /* equal stages */
} StageRow;

typedef struct {
    Draw *draw;
    const Plan *plan;
    const Stages *stages;
    RankMemories ranks;
    Vec(StageRow) rows;
    int *box;      /* per stage: its box */
    RunList *runs; /* per stage: what it runs */
    int slowest;   /* the slowest stage; -1 if all take equally long */
} StagePicture;

#endif
