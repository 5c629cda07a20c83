/* feed.h - the elements of tensors that are not computed by an op of the program.
 *
 * Parameters come from a checkpoint (float types are converted), from the model file or its
 * external data, or are drawn; inputs come from files or are drawn. Constants are values known
 * since inference; those too large for that are computed once, by the same kernels on whole shapes.
 * The master copy of a parameter (core/step/update.h) has the parameter's elements, converted.
 * Feeds are made before the ranks start; each rank fills its own part from them.
 */
#ifndef CORE_RUN_FEED_H
#define CORE_RUN_FEED_H

#include "core/model/safetensors.h"
#include "core/run/draw.h"
#include "core/run/kernel.h"
#include "core/run/verify/vectors.h"

typedef enum { FEED_NONE, FEED_BYTES, FEED_VALUE, FEED_DRAWN, FEED_LISTED, FEED_COPY } FeedKind;

typedef struct {
    FeedKind kind;
    const void *bytes;  /* elements of the whole tensor, in host byte order, maybe unaligned */
    Dtype held;         /* element type of bytes */
    const Value *value; /* not deferred */
    uint64_t key;       /* key of draws; integers that are not tokens, and bools, are 0 */
    double scale;
    int64_t bound;  /* of drawn tokens: their number; 0: not tokens */
    bool ahead;     /* these are labels: each is the token after */
    int32_t copied; /* FEED_COPY: the parameter whose elements it has, in its own type */
    const Generated *generated; /* how an operator generates them; NULL: uniform */
} Feed;

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    uint64_t seed;
    const Generated *generated; /* per tensor */
    Feed *at;                   /* per tensor; FEED_NONE if not wanted */
    Local **computed;           /* per tensor: the whole value of a computed constant or a sequence;
                                 * NULL */
    Vec(FileMap) maps;
    int n_weights;       /* of the given checkpoint */
    int n_missing;       /* weights that are neither in it nor in the model; the first: */
    const char *missing; /* NULL if n_missing is 0 */
} Feeds;

/* What the user gave beside the model. */
typedef struct {
    uint64_t seed;
    const Vectors *inputs;      /* files of graph inputs, or NULL */
    const SafeTensors *weights; /* or NULL */
    bool deterministic;         /* RunOptions.deterministic */
    bool draw_missing;          /* weights that are not in `weights` are drawn, not an error */
} Given;

/* Makes the feeds of the wanted tensors. End with feeds_close(), also after an error. ERROR_USAGE:
 * an input file does not fit its tensor; ERROR_UNREADABLE: data is too short; ERROR_RUN: a constant
 * cannot be computed. */
bool feeds_open(Arena *arena, const Inferred *inferred, const bool *wanted, const Given *given,
                Feeds *out, Error *err);
void feeds_close(Feeds *feeds);

/* The value of a sequence or an optional; NULL for a tensor. */
const Local *feed_listed(const Feeds *feeds, int32_t tensor);

/* Draws of inputs and random ops differ by batch: the number of the micro-batch since the first
 * step, or 0. */
uint64_t batch_seed(uint64_t seed, int64_t batch);

/* Fills a part of the tensor. Thread-safe. */
void feed_fill(const Feeds *feeds, int32_t tensor, int64_t batch, Local *part, Arena *scratch);

/* Opens the inputs of a data set: the files of the folder. For a NAME.onnx whose outputs are in
 * NAME_output_N.pb, the inputs are what ONNX feeds its light models: 0, 1/n, 2/n .. for n elements.
 * A model without inputs has an empty set. Otherwise like vectors_open(). */
bool inputs_open(Arena *arena, const Inferred *inferred, const char *data_set, Vectors *out,
                 Error *err);

/* Returns true when a file's value has the type of the model's tensor, and its shape as far as that
 * is known; otherwise *err names both. Older files store a bf16 as u16. */
bool vector_fits(const Inferred *inferred, int32_t tensor, const OnnxTensor *vector, Error *err);

#endif
