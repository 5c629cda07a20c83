/* decode.h - inference with a KV cache: the cost of a prefill and of a decoding step, how both grow
 * with the cache, and what fits. Every number comes from a plan.
 *
 * A model built from a config.json makes an inference step if the free dim `context` is given
 * (scripts/models/lib/attention.lua): `batch` sequences of `seq` new tokens, after `context`
 * earlier ones, whose keys and values are its inputs past_key_values.*. The cache of a decoder
 * without windows has
 *
 *     2 * layers * heads of keys and values * numbers of a head * batch * context * bytes of one
 *
 * bytes in all. A cache in blocks (Kwon et al. 2023, PagedAttention) has whole blocks of that many
 * tokens for each sequence and layer; the unused rest of the last block counts. With stages, a step
 * fills and drains the pipeline; each of its micro-batches has `batch` sequences and its own cache.
 */
#ifndef CORE_SUMMARY_DECODE_H
#define CORE_SUMMARY_DECODE_H

#include "core/session/session.h"

typedef struct DecodeAsked {
    int64_t batch, context, seq;
    int64_t block; /* tokens per block of the cache; 1: no blocks */
} DecodeAsked;

/* Reads "batch=8,context=4096"; seq and block default to 1. ERROR_USAGE with the place. */
bool decode_parse(Arena *arena, const Source *source, DecodeAsked *out, Error *err);

/* The options of a session for such a step: with its dims, and with one micro-batch if the policy
 * has that option and the user did not set it. In the arena. */
bool decode_options(Arena *arena, const SessionOptions *options, const SessionHooks *hooks,
                    DecodeAsked asked, SessionOptions *out, Error *err);

/* Returns whether the session's graph is an inference step with a cache. */
bool decode_has_cache(const Session *session);

typedef struct {
    DecodeAsked asked;
    const char *failed; /* why there is no plan; NULL: there is one, and the other fields
                           describe it */
    int micro_batches;
    double step_us;
    double tokens_per_s;       /* new tokens of all micro-batches */
    int64_t peak_bytes;        /* of the rank that needs most */
    int64_t cache_bytes;       /* of that rank, for all micro-batches */
    int64_t unused_bytes;      /* the unused rest of its blocks: not in cache_bytes, but in
                                  peak_bytes */
    int64_t whole_cache_bytes; /* of all ranks, counting each element once */
    bool legal, fits;
} DecodeStep;

/* The plan for one more token per sequence, when the cache holds `context`. */
DecodeStep decode_step(Arena *arena, const Session *session, DecodeAsked asked);

enum { DECODE_POINTS = 6 };

typedef struct {
    DecodeStep step;                  /* the step that was asked for */
    DecodeStep prefill;               /* context 0 and as many new tokens as the context has */
    DecodeStep growth[DECODE_POINTS]; /* over the context: 0, quarters of the one asked for, .. */
    int n_growth;                     /* .. and the largest that fits, if it is larger */
    int64_t most_context; /* the largest that fits with this batch; -1 none; DECODE_NO_LIMIT */
    int64_t most_batch;   /* the largest that fits with this context, likewise */
} DecodePage;

enum { DECODE_LIMIT = 1 << 24, DECODE_NO_LIMIT = DECODE_LIMIT };

/* session: for the step that was asked for. Returns false with ERROR_CANCELLED if stopped. */
bool decode_page(Arena *arena, const Session *session, DecodeAsked asked, Progress *progress,
                 DecodePage *out, Error *err);

#endif
