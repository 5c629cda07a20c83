/* ipf.h - index projection functions: from text to a row per tensor dim.
 *
 * R map: entry k is the start of tensor dim k, in coordinates. `e :+ w` adds a window, `:` is the
 * whole dim, `:...` that for the rest, a bare `...` the coordinates at the same positions.
 * D map: coefficients met in a walk along the diagonal. A number takes an index dim and a tensor
 * dim, `_` a tensor dim, `~` an index dim. A list of one number per tensor dim, with more of them
 * than index dims, reads its zeros as `_` where there are just as many too many.
 */
#ifndef CORE_PEERS_TAPESTRY_IPF_H
#define CORE_PEERS_TAPESTRY_IPF_H

#include "core/peers/tapestry/scope.h"

/* As loaded. All NULL: the default, `[...] :> [...]`. */
typedef struct {
    const Phrase *map;               /* FORM_IPF, or FORM_MAP beside offset and window */
    const Phrase *offset, *window;   /* FORM_EXPR: lists */
    const Phrase *source, *at, *row; /* insertRow; source is FORM_IPF */
} Ipf;

/* What a projection is onto. */
typedef struct {
    const Phrase *phrase; /* for errors where no text is at fault */
    int rank;
    const Shape *shape; /* NULL: sizes are not known, so `:` has no meaning */
} IpfTensor;

/* scope->index is set: `@` and the number of main dims. E_RANK, E_FILL, E_AFFINE, E_SHAPE, .. */
bool ipf_build(Scope *scope, const Ipf *ipf, const IpfTensor *tensor, Projection *out);

/* Whether sums over the index box stay within 2^60, so that ranges can be computed. */
bool ipf_is_small(const Projection *projection, const int64_t *extent, int n_index);

#endif
