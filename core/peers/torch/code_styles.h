/* code_styles.h - exports plans that match torch's own styles of tensor parallelism. */
#ifndef CORE_PEERS_TORCH_CODE_STYLES_H
#define CORE_PEERS_TORCH_CODE_STYLES_H

#include "core/session/session.h"

/* Writes def tensor_parallel(axis), with a plan of ColwiseParallel and RowwiseParallel for each
 * axis that shards only Linear modules, by columns or rows, and along which only the sums of the
 * latter move. Writes nothing if there is no such axis. */
void dtensor_styles(const Session *session, Buf *out);

#endif
