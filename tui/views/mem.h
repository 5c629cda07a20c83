/* mem.h - a plan's memory on screens: groups of equal devices, live bytes over the step, and what
 * is alive at one place of it as a tree of rows.
 *
 * The tree groups live values by class, layer and tensor, or without the class, or not at all.
 * Values of repeated layers are one row xN if their place in the layer, class, sharding and bytes
 * are equal. A layer with one row is that row. Siblings are sorted by bytes, the largest first.
 *
 * Cursors (`at`, `place`, `grouping`, open rows) are kept from plan to plan; everything else is
 * made on first use and freed with the plan.
 */
#ifndef TUI_VIEWS_MEM_H
#define TUI_VIEWS_MEM_H

#include "core/base/intern.h"
#include "core/cost/memory.h"
#include "core/cost/memory_class.h"
#include "core/cost/memory_moments.h"
#include "core/session/session.h"
#include "core/summary/saved.h"
#include "tui/state/ui.h"

/* ORDER MEM_GROUPING */
typedef enum { MEM_BY_CLASS, MEM_BY_LAYER, MEM_BY_TENSOR, MEM_GROUPING_COUNT } MemGrouping;

typedef struct {
    int depth;
    int level;      /* 0 class, 1 layer, 2 leaf: equal values */
    int32_t parent; /* row, or -1 */
    bool leaf, open;
    const char *label; /* "activation", "transformer.h[0..11]", "mlp.c_fc.weight" */
    const char *path;  /* labels from the root, which identify the row in another plan */
    int64_t bytes;
    int n;           /* number of live values it stands for */
    LiveValue value; /* one of them; the largest come first */
} MemRow;

typedef struct {
    int at;     /* the selected group of devices */
    int place;  /* in the program; -1: where the selected devices need most */
    int moment; /* of a training step, index in `step`; -1: the fullest */
    MemGrouping grouping;
    Arena *kept;     /* of `toggled` */
    Intern *toggled; /* paths of rows that the user opened or closed an odd number of times */
    Vec(bool) is_toggled;
    /* of the plan; NULL: to be made */
    Arena *arena;
    MemoryAccount *account;
    int n_places;
    RankMemories ranks;
    /* of the selected devices, of a training step; NULL: to be made */
    Arena *step_arena;
    MemoryMoments step; /* n 0: the plan has no training step */
    Saved saved;
    /* of the place; NULL: to be made */
    Arena *live_arena;
    LiveSet live;
    int n_rows;
    const MemRow *row; /* without those inside closed rows */
} Mem;

void mem_open(Mem *mem, Arena *arena);
void mem_forget(Mem *mem); /* call it before the plan is freed */

/* Computes what depends on the plan and on the place. Returns false if it was stopped; the rest is
 * then computed later. */
bool mem_count(Mem *mem, const Session *session, Progress *progress);
bool mem_list(Mem *mem, const Session *session, Progress *progress);

const RankMemory *mem_ranks(const Mem *mem); /* the selected devices */
int mem_place(const Mem *mem);               /* the place that is shown; -1: there are no ops */

/* Each changes what is shown. */
void mem_select(Mem *mem, int at);
void mem_move_time(Mem *mem, int by); /* by places; the place of the peak stays the peak */
/* In a training step: moves to the next moment, at least that much later (or earlier, if negative),
 * at which an op runs. */
void mem_move_moment(Mem *mem, double us);
const MemoryMoment *mem_moment(const Mem *mem); /* the shown moment; NULL: no training step */
void mem_set_grouping(Mem *mem, MemGrouping grouping);
void mem_toggle(Mem *mem, int row);

/* Live values that are equal in repeated layers. */
typedef struct {
    int n;
    int32_t *tensor;
    int64_t bytes; /* the sum over all of them */
} MemAlike;

/* The `most` groups of equal values with the most bytes, inside a row (NULL: anywhere); returns how
 * many. Copies that steps of a reshard are still filling are left out. */
int mem_equal_values(Arena *arena, Mem *mem, const Session *session, const MemRow *within, int most,
                     MemAlike *out);

const char *mem_grouping_name(MemGrouping grouping); /* "class > layer > tensor" */
char mem_class_letter(MemoryClass class);            /* in bars: 'P' */

/* The op that makes a value, or reads it first; -1. */
int32_t mem_op(const Session *session, int32_t tensor);

/* Splits a bar into classes: the columns of each, if `whole` bytes fill `columns`; rounded so that
 * they sum to the columns of all bytes. */
void mem_split(const int64_t *by_class, int64_t whole, int columns, int *out);

/* "d0..d7", "d0 d2 d4 .. d14": the devices of a group, in about `most` columns at most. */
void mem_format_devices(const Mem *mem, int at, int64_t n_devices, int most, Buf *out);

/* The common coordinates of a group's devices if they are a box of the mesh: "dp 1, tp 0..2";
 * without axes that the box covers completely. Nothing if they are no box, or all devices. */
void mem_format_box(const Mem *mem, int at, const Mesh *mesh, Buf *out);

/* The most live bytes among the places that a column of `of` stands for. */
int64_t mem_column(const MemoryUse *use, int n_places, int column, int of);

/* For a training step: live bytes by class over all micro-batches, with the blocks of the schedule
 * below, in the remaining lines. tui/views/step/mem_strip.c */
void mem_strip_draw(const Ui *ui, int rows, Pen *pen);

/* ---- settings of the policy that could be other; tui/views/step/view_try.c ---- */

/* Whether the plan is of a training step and its policy declares a setting that is tried:
 * recomputation, ZeRO, micro-batches, schedules (core/summary/estimate.h). */
bool mem_has_settings(const Ui *ui);
/* Begins to plan each of them in the background, before a frame that shows them. */
void mem_settings_follow(Ui *ui);
/* A menu of them with the step and the peak that each gives. False if there are none. */
bool mem_settings_what_if(Ui *ui);
/* Names those which shorten the step, in one line or (whole) all of them; nothing until they are
 * planned. */
void mem_settings_shorter_draw(const Ui *ui, bool whole, Pen *pen);

/* ---- what the panes share; view_mem.c ---- */

static inline Mem *mem_of(const Ui *ui)
{
    return ui->own[SHOW_MEM];
}

/* Computes and lists before a frame that shows it; for large models in a job. */
void mem_follow(Ui *ui);

/* Whether the values of the selected place are listed yet. */
bool mem_is_listed(Ui *ui);

bool mem_act(Ui *ui, ActId act); /* the time cursor, the grouping; false for other actions */
/* Opens a menu of options that would lower the peak: for the row's values, or for the largest ones
 * (NULL). */
void mem_what_if(Ui *ui, const MemRow *within);
void mem_note(Ui *ui, Buf *out); /* the shown place, and how much is alive there */

#endif
