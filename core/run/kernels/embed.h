/* embed.h - sums of rows of embedding tables: what EmbedLayerNormalization and its gradient share.
 */
#ifndef CORE_RUN_KERNELS_EMBED_H
#define CORE_RUN_KERNELS_EMBED_H

#include "core/run/kernel.h"

enum { EMBED_IDS, EMBED_SEGMENTS, EMBED_WORD, EMBED_POSITION, EMBED_SEGMENT };

/* Of each token of `like`, [batch, sequence, hidden], its row of a table: input EMBED_WORD,
 * EMBED_POSITION or EMBED_SEGMENT. False with *err: a row is outside of the table. */
bool embed_rows(const KernelCall *call, int table, const Local *like, int64_t *rows, Error *err);

/* The sum of the rows of all tables that are there. */
bool embed_sum(const KernelCall *call, const Local *like, double *sum, Error *err);

#endif
