/* code_state.h - shared by the writers of Python for torch and veScale: the plan, with its names
 * and placements in torch's form.
 */
#ifndef CORE_PEERS_TORCH_CODE_STATE_H
#define CORE_PEERS_TORCH_CODE_STATE_H

#include "core/code/code.h"
#include "core/code/python_mesh.h"
#include "core/layout/placement.h"

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    const Mesh *mesh;
    const Graph *graph;
    bool staged[MESH_AXES_MAX]; /* axes that distinguish the devices of stages */
    int n_staged;
    int n_inexpressible; /* shardings that placements cannot express */
    bool vescale;
    int n_gathered; /* veScale: parameters that are stored as they are read */
} TorchWriting;

/* "Shard(1)", with "R" for Replicate(). */
void torch_put_placement(const TorchWriting *w, const Placement *placement, Buf *out);

/* The name that torch gives a parameter. Exporters keep it, except for weights that they copied;
 * for these it is the path of the module and ".weight". */
Str torch_parameter_name(const TorchWriting *w, int32_t tensor);

/* Whether it is a value of the run with a known shape. */
bool torch_has_shape(const TorchWriting *w, int32_t tensor);

void torch_find_stages(TorchWriting *w); /* sets staged and n_staged */
/* "STAGE_DIMS = ("pp",)": the axes of stages, or the other axes. */
void torch_write_dims(const TorchWriting *w, const char *name, bool staged, Buf *out);
void torch_write_ranks(const TorchWriting *w, Buf *out); /* "[3, 1, 0, 2]", or "None" */

/* The plan in torch's own parallel styles, in the form that a reviewer would merge:
 * ColwiseParallel, fully_shard, a schedule. Returns false with the reason if styles cannot express
 * it. */
bool torch_styles_code(TorchWriting *w, Buf *out, ExportNotes *notes, Error *err);

#endif
