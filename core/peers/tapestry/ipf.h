/* ipf.h - index projection functions: from text to a row per tensor dim.
 *
 * R map: entry k is the start of tensor dim k, in coordinates. `e :+ w` adds a window, `:` is the
 * whole dim, `:...` all of the remaining dims whole, a bare `...` the coordinates at the same
 * positions.
 * D map: coefficients along the diagonal of the matrix. A number uses up an index dim and a tensor
 * dim, `_` a tensor dim, `~` an index dim. In a list of one number per tensor dim, zeros mean `_`
 * if their number is that of the tensor dims in excess of index dims.
 */
#ifndef CORE_PEERS_TAPESTRY_IPF_H
#define CORE_PEERS_TAPESTRY_IPF_H

#include "core/peers/tapestry/scope.h"

/* A loaded ipf; if all are NULL the default, `[...] :> [...]`. */
typedef struct {
    const Phrase *map;               /* FORM_IPF, or FORM_MAP beside offset and window */
    const Phrase *offset, *window;   /* FORM_EXPR: lists */
    const Phrase *source, *at, *row; /* insertRow; source is FORM_IPF */
} Ipf;

/* The tensor that a projection maps to. */
typedef struct {
    const Phrase *phrase; /* the phrase that errors name if no text causes them */
    int rank;
    const Shape *shape; /* NULL: sizes are not known, so `:` has no meaning */
} IpfTensor;

/* Needs scope->index, for `@` and the number of main dims. E_RANK, E_FILL, E_AFFINE, E_SHAPE, .. */
bool ipf_build(Scope *scope, const Ipf *ipf, const IpfTensor *tensor, Projection *out);

/* Whether sums over the index box stay within 2^60, so that ranges can be computed. */
bool ipf_is_small(const Projection *projection, const int64_t *extent, int n_index);

#endif
