/* device.h - the drawing of devices while it is made.
 *
 * A team is devices that run the same ops. Teams beside each other whose layers and bytes are alike
 * are drawn once, as "xN".
 */
#ifndef VIZ_DRAW_DEVICE_H
#define VIZ_DRAW_DEVICE_H

#include "core/cost/memory.h"
#include "viz/draw/holding.h"
#include "viz/draw/segments.h"

typedef struct {
    int64_t n_positions;
    const int64_t *position; /* in the mesh */
    int like;                /* the team that it is drawn as; -1: it is drawn, or hidden */
    int n_alike;             /* with itself */
    bool hidden;             /* among those that one box stands for */
    RunList runs;
    Segments segments;   /* of what is drawn */
    int *box;            /* per segment */
    int32_t *segment_of; /* per op: 1 + its segment, in the team it is drawn as; 0 */
    int32_t *turn;       /* per op: of equal layers the how many-th it is in, from 0 */
    int frame;           /* -1 */
    int holds;           /* box */
} Team;

typedef struct {
    Draw *draw;
    const Plan *plan;
    const MemoryAccount *account;
    RankMemories ranks;
    int64_t only; /* position of the one device that it is of; -1 */
    Vec(Team) teams;
    int hidden_box; /* -1 */
    int last_box;   /* of the team before; -1 */
} DevicePicture;

/* Segments of all teams that are drawn, as fine as there may be boxes for them. */
void device_cut(DevicePicture *picture);
void device_draw_runs(DevicePicture *picture, Team *team);
void device_draw_moves(DevicePicture *picture);
Text device_say_local(const DevicePicture *picture, int64_t position, int32_t tensor,
                      int32_t sharding);

#endif
