/* embed.h - sums of rows of embedding tables: what EmbedLayerNormalization and its gradient share.
 */
#ifndef CORE_RUN_KERNELS_EMBED_H
#define CORE_RUN_KERNELS_EMBED_H

#include "core/run/kernel.h"

enum { EMBED_IDS, EMBED_SEGMENTS, EMBED_WORD, EMBED_POSITION, EMBED_SEGMENT };

/* For each token of `like`, [batch, sequence, hidden], its row of a table: input EMBED_WORD,
 * EMBED_POSITION or EMBED_SEGMENT. Returns false with *err if a row is outside the table. */
bool embed_rows(const KernelCall *call, int table, const Local *like, int64_t *rows, Error *err);

/* The sum of the rows of all tables present. */
bool embed_sum(const KernelCall *call, const Local *like, double *sum, Error *err);

#endif
