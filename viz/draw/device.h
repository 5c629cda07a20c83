/* device.h - state shared by the files that draw devices.
 *
 * A team is the devices that run the same ops. Neighbouring teams with equal layers and equal bytes
 * are drawn once, as "xN".
 */
#ifndef VIZ_DRAW_DEVICE_H
#define VIZ_DRAW_DEVICE_H

#include "core/cost/memory.h"
#include "viz/draw/holding.h"
#include "viz/draw/segments.h"

typedef struct {
    int64_t n_positions;
    const int64_t *position; /* mesh positions of its devices */
    int like;    /* the team that is drawn in its place; -1 if it is drawn itself, or hidden */
    int n_alike; /* number of equal teams, itself included */
    bool hidden; /* one of those replaced by a single box */
    RunList runs;
    Segments segments;   /* of the ops it runs */
    int *box;            /* per segment: its box */
    int32_t *segment_of; /* per op: 1 + its segment, in the team drawn in its place; 0 if none */
    int32_t *layer;      /* per op: index of its layer among equal layers, from 0 */
    int frame;           /* its frame, or -1 */
    int holds;           /* the box of what it holds */
} DrawnTeam;

typedef struct {
    Draw *draw;
    const Plan *plan;
    const MemoryAccount *account;
    RankMemories ranks;
    int64_t only; /* position of the single device that is drawn; -1 for all */
    Vec(DrawnTeam) teams;
    int hidden_box; /* the box for teams that are not drawn, or -1 */
    int last_box;   /* last box of the previous team, or -1 */
} DevicePicture;

/* Splits the ops of all drawn teams into segments, as fine as the number of boxes allows. */
void device_cut(DevicePicture *picture);
void device_draw_runs(DevicePicture *picture, DrawnTeam *team);
void device_draw_moves(DevicePicture *picture);
Text device_local_text(const DevicePicture *picture, int64_t position, int32_t tensor,
                       int32_t sharding);

#endif
