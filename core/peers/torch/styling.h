/* styling.h - what the finders of torch's styles share: one axis of the mesh at a time, and what it
 * does to values and modules (styles.c,
 * styles_between.c, styles_attention.c).
 */
#ifndef CORE_PEERS_TORCH_STYLING_H
#define CORE_PEERS_TORCH_STYLING_H

#include "core/peers/torch/styles.h"

typedef struct {
    const TorchWriting *w;
    TorchStyles *out;
    Intern *paths; /* of out->modules, by index */
    int axis;
    bool *explained; /* per tensor: what is moved along the axis is moved by a style */
    int32_t *group;  /* per tensor: how many modules read it through PrepareModuleInput */
    Error *err;
} Styling;

/* Of one axis. A sharding that placements do not express is OTHER, which no style has. */
#define OTHER PLACE_NORM_PARTIAL

/* The placement on the axis of a Shardings id (-1: replicated), or of a value as it is made. */
Placement styling_lies(const Styling *s, int32_t id);
Placement styling_made(const Styling *s, int32_t tensor);

static inline bool styling_is_whole(Placement it)
{
    return it.kind == PLACE_REPLICATE;
}

bool styling_is_read(const Styling *s, int32_t op); /* an op of the model that runs */
Str styling_parent(Str path);                       /* "model.layers.0" of "model.layers.0.mlp" */
bool styling_within(Str path, Str around);          /* the module itself, or one in it */

int styling_rank(const Styling *s, int32_t tensor); /* dims; 0 of an unknown shape */

/* What the ops of the model need a parameter as. */
Placement styling_used(const Styling *s, int32_t parameter);

/* A module on one axis: how its first argument arrives and is read, how its result is computed and
 * what it is given on as. */
typedef struct {
    Placement arrives, reads, makes, gives;
    bool last; /* its result is sharded in its last dim, or given whole: the code around it sees a
                  plain tensor */
    bool is_output;
    bool parts; /* its parameters are sharded as in the plan; else they stay whole */
} StylePassage;

/* False if a placement of it is OTHER, or a sum that is not reduced behind it. What it moves is
 * explained. */
bool styling_passage(Styling *s, const StyledModule *m, StylePassage *out);

/* Adds "name=Shard(0)" to the arguments of a style. */
void styling_put_argument(const Styling *s, const char *name, Placement it, Buf *out);

/* The module of the path, which is new if there was none. */
StyledModule *styling_module(Styling *s, Str path);

/* Finds the blocks of stacked experts, before other modules. */
bool styling_find_experts(Styling *s);

/* Whether a block of experts takes this parameter. */
bool styling_is_expert(const Styling *s, int32_t parameter);

/* Gives each block its style on the axis; false with the reason if there is none that says it. */
bool styling_experts(Styling *s);

/* Gives each nn.MultiheadAttention that the axis shards by heads its style. */
void styling_attentions(Styling *s);

/* Whether styles reduce the gradient of every value that the axis makes a sum of; false with the
 * reason if there is another. */
bool styling_reduces_gradients(const Styling *s);

/* The block of experts that the module or op of this path is in; NULL if it is in none. */
const ExpertBlock *styling_block(const Styling *s, Str path);

#endif
