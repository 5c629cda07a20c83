/* code_styles.h - torch's own styles of tensor parallelism, where a plan is exactly they. */
#ifndef CORE_PEERS_TORCH_CODE_STYLES_H
#define CORE_PEERS_TORCH_CODE_STYLES_H

#include "core/session/session.h"

/* def tensor_parallel(axis): a plan of ColwiseParallel and RowwiseParallel for each axis that cuts
 * nothing but Linear modules, by columns or by rows, and along which nothing moves but the sums of
 * the latter. Nothing where no axis is such. */
void dtensor_styles(const Session *session, Buf *out);

#endif
