/* sheets.h - tables of a plan that both views and exports show, with their columns. */
#ifndef CORE_SUMMARY_SHEETS_H
#define CORE_SUMMARY_SHEETS_H

#include "core/base/sheet.h"
#include "core/summary/comm.h"
#include "core/cost/memory.h"
#include "core/plan/stage.h"

/* One row per CommRow, in the order of comm->row. The table must be made. */
extern const SheetColumn sheet_comm_columns[];
void sheet_comm_rows(const Comm *comm, ShardingView view, Sheet *out);

/* One row per group of ranks with equal needs, the largest first. */
extern const SheetColumn sheet_memory_columns[]; /* ORDER MEMORY_CLASS */
void sheet_memory_rows(const Session *session, const RankMemories *ranks, Sheet *out);
/* "d0..d3 d8": the ranks of group `at`; cut to about `most` characters, then "..". */
void sheet_format_ranks(const RankMemories *ranks, int at, int64_t n_devices, int most, Buf *out);

/* Live values that differ only in the numbers in their names. */
typedef struct {
    int first, n; /* the first of them in the set, and their number */
    int64_t bytes;
    const char *label; /* "h.*.mlp.c_fc.weight"; for a single value its name */
} LiveRow;

/* Fills rows[set->n], in the order of their first member, and returns how many there are. Labels
 * are in the arena. */
int live_rows(Arena *arena, const Session *session, const LiveSet *set, LiveRow *rows);

/* One row per block of a schedule. */
extern const SheetColumn sheet_schedule_columns[];
void sheet_schedule_rows(const Session *session, const Schedule *schedule, Sheet *out);
/* "stage 0's forward of micro-batch 1" */
void sheet_format_block(const Block *block, Buf *out);

#endif
