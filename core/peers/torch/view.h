/* view.h - strategies of views: maps each dim of the result to dims of the input.
 *
 *     [2,12] of [2,3,4]      input 0 | flatten(1,2)
 *     [3,2] of [2,3]         split 0, split 1 of flatten(0,1) in groups (3,2)
 *
 * A shard follows its dim. Of flattened dims the first one's shard stays plain; that of a later dim
 * becomes strided, _S(dim, product of the dims before it) (veScale: IS), and a split into this
 * group makes it plain again. Shards that need elements of other ranks are refused by views and
 * redistributed for operators that may copy.
 */
#ifndef CORE_PEERS_TORCH_VIEW_H
#define CORE_PEERS_TORCH_VIEW_H

#include "core/peers/torch/family.h"

typedef enum {
    VIEW_ONE,       /* a new dim of size 1 */
    VIEW_NEW,       /* a new dim */
    VIEW_BROADCAST, /* a repeated dim of size 1: dim[0] if n is 1 */
    VIEW_INPUT,     /* dim[0] */
    VIEW_FLATTEN,   /* dim[0..n) */
    VIEW_SPLIT,     /* part `id` of dim[0..n) in groups */
    VIEW_REPEAT,    /* dim[0] repeated several times */
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
} TorchView;

/* From one shape to another. ERROR_INVALID if the numbers of elements differ. */
bool view_reshape(const Shape *from, const Shape *to, TorchView *out, Error *err);

/* The view of an op, and the shape of its result. */
typedef bool ViewFn(const StrategyCall *call, TorchView *out, Shape *shape, Error *err);

typedef struct {
    const char *name;
    ViewFn *view;
    bool strict; /* refuses shards that would move */
} ViewOp;

const ViewOp *view_find(Str name);

/* The needed input and the resulting output, one placement per axis. ERROR_NEEDS_RESHARD.
 */
bool view_propagate(const TorchView *view, const Shape *shape, const Mesh *mesh, bool strict,
                    const Placement *given, Placement *input, Placement *output, Error *err);

#endif
