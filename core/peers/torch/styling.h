/* styling.h - shared by the files that find torch's styles: one axis of the mesh at a time, and
 * what it does to values and modules (styles.c, styles_between.c, styles_attention.c).
 */
#ifndef CORE_PEERS_TORCH_STYLING_H
#define CORE_PEERS_TORCH_STYLING_H

#include "core/peers/torch/styles.h"

typedef struct {
    const TorchWriting *w;
    TorchStyles *out;
    Intern *paths; /* paths of out->modules, by index */
    int axis;
    bool *explained; /* per tensor: a style accounts for its moves along the axis */
    int32_t *group;  /* per tensor: the number of modules that read it through PrepareModuleInput */
    bool *summed;    /* per tensor: SharedColumns sums its gradient over the axis */
    bool *full;      /* per op of the model: each rank of the axis runs it in full */
    Error *err;
} Styling;

/* Placements on one axis. A sharding that placements cannot express is OTHER; no style has it. */
#define OTHER PLACE_NORM_PARTIAL

/* styling_lies(): the placement on the axis for a Shardings id (-1: replicated); styling_made():
 * for a value as its op makes it. */
Placement styling_lies(const Styling *s, int32_t id);
Placement styling_made(const Styling *s, int32_t tensor);

/* Whether the axis shards the value otherwise after the reshard, or not at all. */
bool styling_moves(const Styling *s, const Reshard *reshard);

static inline bool styling_is_whole(Placement it)
{
    return it.kind == PLACE_REPLICATE;
}

bool styling_is_read(const Styling *s, int32_t op); /* an op of the model that runs */
Str styling_parent(Str path);                       /* "model.layers.0" for "model.layers.0.mlp" */
bool styling_within(Str path, Str around);          /* the module itself, or a module inside it */

int styling_rank(const Styling *s, int32_t tensor); /* number of dims; 0 if the shape is unknown */

/* The placement in which the ops of the model need a parameter. */
Placement styling_used(const Styling *s, int32_t parameter);

/* A module on one axis: the placements in which its first argument arrives and is read, and in
 * which its result is computed and passed on. */
typedef struct {
    Placement arrives, reads, makes, gives;
    bool last; /* its result is sharded in its last dim, or passed on whole: the code around it
                  sees a plain tensor */
    bool is_output;
    bool parts; /* its parameters are sharded as in the plan; else they are whole */
} StylePassage;

/* Returns false if one of its placements is OTHER, or a sum that is not reduced after it. Marks the
 * values that it moves as explained. */
bool styling_passage(Styling *s, const StyledModule *m, StylePassage *out);

/* "Shard(0)"; and "name=Shard(0)", added to the arguments of a style. */
void styling_put_place(const Styling *s, Placement it, Buf *out);
void styling_put_argument(const Styling *s, const char *name, Placement it, Buf *out);

/* The style of a module that runs in full on each rank, and whose result is sharded; `local`: the
 * code behind it gets the part of a rank as a plain tensor. */
const char *styling_output(const Styling *s, Placement it, bool local);

/* The module of the path; it is created if needed. */
StyledModule *styling_module(Styling *s, Str path);

/* Finds the blocks of stacked experts, before other modules. */
bool styling_find_experts(Styling *s);

/* Whether the parameter belongs to a block of experts. */
bool styling_is_expert(const Styling *s, int32_t parameter);

/* The placement in which a value arrives at a module, and in which the module passes its result on:
 * one in a block of experts that gathers the sequence gets and gives it whole. */
Placement styling_arrives(const Styling *s, Str path, int32_t tensor);
Placement styling_gives(const Styling *s, Str path, Placement it);

/* Gives each block its style on the axis; returns false with the reason if no style expresses it.
 */
bool styling_experts(Styling *s);

/* Finds values that several modules read, which the module around these gathers once. */
void styling_gather(Styling *s);

/* Makes a module around `path` that reads only inputs of the model, contains no layers and has one
 * result, a sequence, run in full on each rank of the axis, and shards this result; or all ops
 * before the layers of torchvision's ViT, which are one module. Returns false if there is none. */
bool styling_stem(Styling *s, Str path);

/* Gives a style to each nn.MultiheadAttention that the axis shards by heads. */
void styling_attentions(Styling *s);

/* Gives a style to each attention that gets the bias of all heads as an argument, of which the axis
 * shards the heads: ALiBi. */
void styling_biases(Styling *s);

/* Whether styles reduce the gradients of all values that become partial along the axis; returns
 * false with the reason if not. */
bool styling_reduces_gradients(Styling *s);

/* Gives the style SharedColumns to modules that give the last columns to heads of all ranks. */
void styling_columns(Styling *s);

/* The block of experts that contains the module or op of this path; NULL if none does. */
const ExpertBlock *styling_block(const Styling *s, Str path);

#endif
