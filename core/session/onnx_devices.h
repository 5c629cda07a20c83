/* onnx_devices.h - a plan as ONNX's own multi-device annotations, written into a model and read
 * out of one (IR 11; onnx.proto, and the project's proposals 0006 and 0007).
 *
 * A configuration is named after the mesh, "dp=2,tp=4", and has as many devices. A node says of
 * each operand how it lies while the node runs: inputs as they are read, outputs as they are once
 * summed; values that the plan moves are so where maker and reader say otherwise. A dim's shards
 * are our digits: (3)(768/tp) is a dim of 3 in one shard and 768 in as many as tp has devices.
 * Shards are numbered through the dims in order, and the device list says which devices hold each;
 * several, as a group. The stage is the pipeline stage.
 *
 * What it has no words for is counted in OnnxLoss, and written as near as it can be said.
 */
#ifndef CORE_SESSION_ONNX_DEVICES_H
#define CORE_SESSION_ONNX_DEVICES_H

#include "core/session/session.h"

/* ORDER ONNX_LOSS */
typedef enum {
    LOSS_PARTIAL,  /* a value that is left partial: said as it is once summed */
    LOSS_UNEVEN,   /* parts of other sizes: who has how much is the backend's to say */
    LOSS_BLOCKS,   /* (4096|1024)/tp: said as whole */
    LOSS_STORED,   /* a parameter that lies otherwise than it is read (fsdp): not said */
    LOSS_INNER,    /* a node in a local function, a branch or a loop: not said */
    LOSS_WEIGHTS,  /* weights outside of the file: they stay where they are */
    LOSS_SCHEDULE, /* micro-batches, their order, recomputation */
    LOSS_COUNT
} OnnxLoss;

typedef struct {
    int n[LOSS_COUNT];             /* how often */
    const char *first[LOSS_COUNT]; /* the first: of the graph, or in the arena of `out` */
} OnnxLosses;

const char *onnx_loss_text(OnnxLoss loss); /* "values are left partial: .." */

/* The session's model file with the annotations of its plan, appended; bytes of weights are those
 * of the file. Other configurations in it are kept. ERROR_UNSUPPORTED: the model is not of an .onnx
 * file; ERROR_UNREADABLE: that has changed since. */
bool onnx_devices_write(const Session *session, Buf *out, OnnxLosses *losses, Error *err);

/* ---- out of a model ---- */

/* The first configuration of a model file that nodes speak of; false: there is none, or no model.
 * mesh: its name as a mesh of as many devices, else "x=8". The texts live in the arena. */
bool onnx_devices_find(Arena *arena, Str bytes, const char **name, const char **mesh);

/* Its annotations as decisions: the cut of every index dim of a node that they speak of, the
 * devices it runs on, the stages. What does not fit the session's model or mesh is a warning among
 * its notes. ERROR_UNREADABLE: the file is broken; ERROR_USAGE: it has none, or of a mesh of
 * another size. */
bool onnx_devices_read(Session *session, const char *path, Str bytes, Journal *journal, Error *err);

#endif
