/* view.h - operators that rename elements: where each dim of the result comes from.
 *
 *     [2,12] of [2,3,4]      input 0 | flatten(1,2)
 *     [3,2] of [2,3]         split 0, split 1 of flatten(0,1) in groups (3,2)
 *
 * A shard goes with its dim. Of flattened dims the first one's shard stays a shard; one of a later
 * dim lies in as many pieces as the dims before it multiply to, _S(dim, pieces) (veScale: IS), and
 * a split into such a group takes it back. What would need elements of other ranks is refused by
 * views, and moved by operators that may copy.
 */
#ifndef CORE_PEERS_TORCH_VIEW_H
#define CORE_PEERS_TORCH_VIEW_H

#include "core/peers/torch/family.h"

typedef enum {
    VIEW_ONE,       /* a new dim of size 1 */
    VIEW_NEW,       /* a new dim */
    VIEW_BROADCAST, /* a dim of size 1, repeated: dim[0], when it has one */
    VIEW_INPUT,     /* dim[0] */
    VIEW_FLATTEN,   /* dim[0..n) */
    VIEW_SPLIT,     /* part `id` of dim[0..n) in groups */
    VIEW_REPEAT,    /* dim[0], several times after another */
} ViewKind;

typedef struct {
    ViewKind kind;
    int n, dim[DIMS_MAX];
    int id, n_groups;
    int64_t group[DIMS_MAX];
} ViewDim;

typedef struct {
    int n;
    ViewDim at[DIMS_MAX];
} View;

/* From one shape to another of as many elements. ERROR_INVALID: not as many. */
bool view_reshape(const Shape *from, const Shape *to, View *out, Error *err);

/* The view that the op is, and the shape of its result. */
typedef bool ViewFn(const StrategyCall *call, View *out, Shape *shape, Error *err);

typedef struct {
    const char *name;
    ViewFn *view;
    bool strict; /* refuses what would move */
} ViewOp;

const ViewOp *view_find(Str name);

/* What the input must be, and what the output then is; one placement per axis. ERROR_NEEDS_RESHARD.
 */
bool view_propagate(const View *view, const Shape *shape, const Mesh *mesh, bool strict,
                    const Placement *given, Placement *input, Placement *output, Error *err);

#endif
