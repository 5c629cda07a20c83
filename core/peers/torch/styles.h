/* styles.h - expresses what each mesh axis does to the modules of a model in torch's own parallel
 * styles.
 *
 *     tp   transformer.h.*.mlp.c_fc     ColwiseParallel()
 *     dp   shards the batch; parameters are stored sharded: fully_shard()
 *     pp   distinguishes the devices of stages
 *
 * A style belongs to one torch module: the one that owns a parameter. Where torch has no style (a
 * Conv1D, a fused q, k, v), it is Placed, which the exported file defines. The code between modules
 * runs unchanged on each rank's part, so a plan that moves a value there cannot be expressed. Only
 * the model is considered; its loss and its backward pass follow.
 */
#ifndef CORE_PEERS_TORCH_STYLES_H
#define CORE_PEERS_TORCH_STYLES_H

#include "core/code/modules.h"
#include "core/peers/torch/code_state.h"
#include "core/rules/roles.h"

/* AXIS_EXPERTS shards the batch and also stacked experts, to which tokens are sent by all-to-all.
 */
typedef enum { AXIS_IDLE, AXIS_BATCH, AXIS_EXPERTS, AXIS_TENSOR, AXIS_STAGE } AxisUse;

enum { STYLED_PARAMETERS = 6 };

typedef struct {
    Str path;      /* in the graph: "model.layers.0.block_sparse_moe.gate" */
    Str name;      /* as transformers names it: "model.layers.0.mlp.gate"; with '*' for numbers: */
    Str pattern;   /* "model.layers.*.mlp.gate"; for "h.0.mlp.3" it is "h.*.mlp.*", and as layer: */
    Str layer;     /* "h.*.mlp.3": only the first number is '*' */
    CodeModule at; /* its `weight` may be a view of the parameter */
    int n_parameters;
    int32_t parameter[STYLED_PARAMETERS];
    bool within;                       /* a module around it has the same style, which covers it */
    int stage;                         /* -1 without stages */
    const char *style[MESH_AXES_MAX];  /* per axis; NULL: no style */
    int64_t shared[MESH_AXES_MAX];     /* per axis: the last columns of its result that heads of all
                                          ranks read; 0 */
    const char *inputs[MESH_AXES_MAX]; /* of a module around several that read one value: the
                                          PrepareModuleInput; NULL */
} StyledModule;

typedef Vec(StyledModule) StyledModules;

/* A router, its experts, and the dispatch of tokens to them and back. */
typedef struct {
    Str path, experts; /* in the graph: "model.layers.0.mlp", "model.layers.0.mlp.experts" */
    Str pattern;       /* of the block: "model.layers.*.mlp" */
    int n_matmuls;
    MatmulRole matmul[STYLED_PARAMETERS];
    int32_t in, out; /* the tokens, and the result; -1 */
} ExpertBlock;

typedef struct {
    AxisUse use[MESH_AXES_MAX];
    uint8_t stored[MESH_AXES_MAX]; /* for axes of the batch: the values that they shard in
                                      storage, a set of Stored */
    Str stem[MESH_AXES_MAX];       /* per axis: the module before the blocks that each rank runs in
                                      full, though the plan shards it; empty if there is none */
    int32_t added[MESH_AXES_MAX];  /* per axis: an op that adds results of two modules before the
                                      plan reduces their sum; -1. Each module reduces its own */
    bool keep;                     /* gathered parameters stay gathered */
    bool places;                   /* some style is Placed */
    bool splits; /* a fused q, k, v is sharded within each part: these are narrower than the
                    module says */
    int n_forward, n_values; /* number of ops and tensors of the model, without loss and step */
    Vec(ExpertBlock) blocks;
    StyledModules modules; /* in the order of parameters; modules without parameters that gather
                              an input are last */
} TorchStyles;

/* The path in transformers' names: "model.layers.0.mlp" for "model.layers.0.block_sparse_moe". */
Str torch_module_name(Arena *arena, Str path);

/* The common name of equal layers: "model.layers.*.mlp", "encoder.layers.encoder_layer_*.mlp"; with
 * `first` only the first number is replaced. */
Str torch_pattern(Arena *arena, Str path, bool first);

/* torch_styles_change(): whether a style replaces this parameter by another one.
 * torch_styles_give(): whether some module has a style of this name, "Placed(". */
bool torch_styles_change(const TorchStyles *styles, int32_t parameter);
bool torch_styles_give(const TorchStyles *styles, const char *name);

/* Writes lines of parallelize() that divide the numbers of heads which the code of an attention in
 * transformers has in a view(), where the axis shards these heads. */
void torch_write_counts(const TorchWriting *w, const TorchStyles *styles, int axis, Buf *out);

/* Writes lines of parallelize() that copy results of modules which the code of transformers changes
 * in place: torch refuses that of a view of a DTensor. */
void torch_write_copies(const TorchWriting *w, const TorchStyles *styles, int axis, Buf *out);

/* torch_styles_pass_parts(): whether a module that is Placed may read or give a DTensor.
 * torch_styles_may_tie(): whether the model may have a parameter under two names that the styles
 * replace: a config states it, in other files an exporter may have copied the parameter. */
bool torch_styles_pass_parts(const TorchStyles *styles, const Graph *graph);
bool torch_styles_may_tie(const TorchStyles *styles, const Graph *graph);

/* Lists lines of a torch model's own code that have sizes as numbers though an axis shards them,
 * such as a number of heads in view(): a comment for each line, and a note. Ranks have only a part
 * of these sizes, so -1 is needed. */
void torch_write_views(const TorchWriting *w, const TorchStyles *styles, Buf *out,
                       ExportNotes *notes);

/* Returns false with the reason if styles cannot express the plan. Everything is in w->arena. */
bool torch_styles(const TorchWriting *w, TorchStyles *out, Error *err);

#endif
