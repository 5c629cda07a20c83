/* styles.h - what each mesh axis does to the modules of a model, in torch's own parallel styles.
 *
 *     tp   transformer.h.*.mlp.c_fc     ColwiseParallel()
 *     dp   shards the batch; parameters are stored sharded: fully_shard()
 *     pp   distinguishes the devices of stages
 *
 * A style changes one module of torch: the one that owns a parameter. Where torch has none (a
 * Conv1D, a fused q, k, v) it is Placed, which the exported file defines. The code between modules
 * runs on each rank's part as it is, so a plan that moves a value there has no styles. Only the
 * model is looked at, not its loss nor its backward pass, which follow from it.
 */
#ifndef CORE_PEERS_TORCH_STYLES_H
#define CORE_PEERS_TORCH_STYLES_H

#include "core/code/modules.h"
#include "core/peers/torch/code_state.h"
#include "core/rules/roles.h"

/* AXIS_EXPERTS shards the batch, and stacked experts, to which tokens go by all-to-all. */
typedef enum { AXIS_IDLE, AXIS_BATCH, AXIS_EXPERTS, AXIS_TENSOR, AXIS_STAGE } AxisUse;

enum { STYLED_PARAMETERS = 6 };

typedef struct {
    Str path;      /* in the graph: "model.layers.0.block_sparse_moe.gate" */
    Str name;      /* as transformers has it: "model.layers.0.mlp.gate"; numbers are '*' in: */
    Str pattern;   /* "model.layers.*.mlp.gate"; of "h.0.mlp.3" "h.*.mlp.*", and as layer: */
    Str layer;     /* "h.*.mlp.3": only the first number is '*' */
    CodeModule at; /* its `weight` may be a view of the parameter */
    int n_parameters;
    int32_t parameter[STYLED_PARAMETERS];
    bool within;                       /* the style of a module around it is its own too */
    int stage;                         /* -1 without stages */
    const char *style[MESH_AXES_MAX];  /* per axis; NULL: stays as it is */
    const char *inputs[MESH_AXES_MAX]; /* of a module around several that read one value:
                                          PrepareModuleInput; NULL */
} StyledModule;

typedef Vec(StyledModule) StyledModules;

/* A router, the experts that it chooses from, and the way to them and back. */
typedef struct {
    Str path, experts; /* in the graph: "model.layers.0.mlp", "model.layers.0.mlp.experts" */
    Str pattern;       /* of the block: "model.layers.*.mlp" */
    int n_matmuls;
    MatmulRole matmul[STYLED_PARAMETERS];
    int32_t in, out; /* the tokens, and what is made of them; -1 */
} ExpertBlock;

typedef struct {
    AxisUse use[MESH_AXES_MAX];
    uint8_t stored[MESH_AXES_MAX]; /* of axes of the batch: what it shards in storage, a set of
                                      Stored */
    bool keep;                     /* parameters that were gathered stay so */
    bool places;                   /* some style is Placed */
    bool splits; /* a fused q, k, v is sharded in each: its parts are narrower than the module
                    says */
    int n_forward, n_values; /* ops and tensors of the model, without loss and step */
    Vec(ExpertBlock) blocks;
    StyledModules modules; /* in the order of parameters; modules without one that gather an
                              input are last */
} TorchStyles;

/* The path as transformers has it: "model.layers.0.mlp" of "model.layers.0.block_sparse_moe". */
Str torch_module_name(Arena *arena, Str path);

/* The name of equal layers: "model.layers.*.mlp", "encoder.layers.encoder_layer_*.mlp"; with
 * `first` numbers behind the first one stay. */
Str torch_pattern(Arena *arena, Str path, bool first);

/* Whether a style makes another parameter of this one; whether one of this name, "Placed(", is
 * given to some module. */
bool torch_styles_change(const TorchStyles *styles, int32_t parameter);
bool torch_styles_give(const TorchStyles *styles, const char *name);

/* Where a model of torch's own code says sizes that an axis shards as numbers, as a number of heads
 * in view(): a comment of each such line, and a note. Ranks have a part of them, so -1 is needed.
 */
void torch_write_views(const TorchWriting *w, const TorchStyles *styles, Buf *out,
                       ExportNotes *notes);

/* False with the reason if styles do not express the plan. Everything is in w->arena. */
bool torch_styles(const TorchWriting *w, TorchStyles *out, Error *err);

#endif
