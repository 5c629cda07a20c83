/* onnx_devices.h - writes a plan into a model file as ONNX's own multi-device annotations, and
 * reads it back (IR 11; onnx.proto, and ONNX's proposals 0006 and 0007).
 *
 * A configuration is named after the mesh, "dp=2,tp=4", and has as many devices. A node gives the
 * sharding of each operand while the node runs: inputs as the op reads them, outputs after
 * reduction. A value is resharded if its maker's sharding and its reader's differ. A dim's shards
 * are our digits: (3)(768/tp) is a dim of 3 in one shard and 768 in as many as tp has devices.
 * Shards are numbered through the dims in order; the device list gives the device, or the group of
 * devices, that holds each. The stage is the pipeline stage.
 *
 * What the annotations cannot express is counted in OnnxLoss, and written as closely as possible.
 */
#ifndef CORE_SESSION_ONNX_DEVICES_H
#define CORE_SESSION_ONNX_DEVICES_H

#include "core/session/session.h"

/* ORDER ONNX_LOSS */
typedef enum {
    LOSS_PARTIAL,  /* a value that stays partial: written as if reduced */
    LOSS_UNEVEN,   /* uneven parts: the backend chooses the sizes */
    LOSS_BLOCKS,   /* (4096|1024)/tp: written as whole */
    LOSS_STORED,   /* a parameter that is stored with another sharding than it is read with
                      (FSDP): not written */
    LOSS_INNER,    /* a fused op; a node in a local function, a branch or a loop: not written */
    LOSS_WEIGHTS,  /* weights outside the file: not copied */
    LOSS_SCHEDULE, /* micro-batches, their order, recomputation */
    LOSS_COUNT
} OnnxLoss;

typedef struct {
    int n[LOSS_COUNT];             /* how often */
    const char *first[LOSS_COUNT]; /* an example: a name of the graph, or a text in the arena of
                                      `out` */
} OnnxLosses;

const char *onnx_loss_text(OnnxLoss loss); /* "values are left partial: .." */

/* Writes the session's model file with the annotations of its plan appended; weights are copied as
 * they are in the file. Other configurations in the file are kept. ERROR_UNSUPPORTED if the model
 * is not from an .onnx file; ERROR_UNREADABLE if the file has changed since it was read. */
bool onnx_devices_write(const Session *session, Buf *out, OnnxLosses *losses, Error *err);

/* ---- out of a model ---- */

/* Finds the first configuration of a model file that nodes refer to; returns false if there is
 * none, or if the bytes are no model. mesh: the configuration's name if it describes a mesh of as
 * many devices, else "x=8". The texts are in the arena. */
bool onnx_devices_find(Arena *arena, Str bytes, const char **name, const char **mesh);

/* Reads the annotations as decisions: the cut of every index dim that a node describes, the devices
 * the node runs on, the stages. An annotation that does not fit the session's model or mesh becomes
 * a warning in session->notes. ERROR_UNREADABLE if the file is broken; ERROR_USAGE if it has no
 * configuration, or one for a mesh of another size. */
bool onnx_devices_read(Session *session, const char *path, Str bytes, Journal *journal, Error *err);

#endif
