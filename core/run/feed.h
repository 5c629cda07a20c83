/* feed.h - where the elements of tensors come from that no op of the program makes.
 *
 * A parameter's bytes lie in a checkpoint that was given, whose float types are converted, in the
 * mapped model, or beside it, or are nowhere and drawn; inputs come from files or are drawn;
 * constants are values known since inference, or, where they were too large to hold, are computed
 * here, once, by the same kernels on whole shapes. Feeds are made before the ranks start and only
 * read by them: each fills its own part, whatever its sharding.
 */
#ifndef CORE_RUN_FEED_H
#define CORE_RUN_FEED_H

#include "core/model/safetensors.h"
#include "core/run/draw.h"
#include "core/run/kernel.h"
#include "core/run/vectors.h"

typedef enum { FEED_NONE, FEED_BYTES, FEED_VALUE, FEED_DRAWN, FEED_LISTED } FeedKind;

typedef struct {
    FeedKind kind;
    const void *bytes;  /* elements of the whole tensor, in host order, maybe unaligned */
    Dtype held;         /* of bytes: their type */
    const Value *value; /* not deferred */
    uint64_t key;       /* of draws; integers and bools are drawn as 0 */
    double scale;
    const Generated *generated; /* of draws: what an operator says of them; NULL: nothing */
} Feed;

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    uint64_t seed;
    const Generated *generated; /* per tensor */
    Feed *at;                   /* per tensor; FEED_NONE where none was wanted */
    Local **computed;           /* per tensor: the whole of a constant computed here, or of what is
                                   listed; NULL */
    Vec(FileMap) maps;
    int n_weights; /* of a checkpoint that was given */
} Feeds;

/* What a run was given beside its model. */
typedef struct {
    uint64_t seed;
    const Vectors *inputs;      /* files of graph inputs, or NULL */
    const SafeTensors *weights; /* or NULL */
} Given;

/* Makes the feeds of the tensors that are wanted. Ends with feeds_close(), also after an error.
 * ERROR_USAGE: an input file does not fit its tensor; ERROR_UNREADABLE: data that is there but
 * short; ERROR_RUN: a constant cannot be computed. */
bool feeds_open(Arena *arena, const Inferred *inferred, const bool *wanted, const Given *given,
                Feeds *out, Error *err);
void feeds_close(Feeds *feeds);

/* What is fed as it is, since it is no tensor: a sequence, or an optional; NULL: a tensor. */
const Local *feed_listed(const Feeds *feeds, int32_t tensor);

/* Fills a part of the tensor. Safe to call from several threads. */
void feed_fill(const Feeds *feeds, int32_t tensor, Local *part, Arena *scratch);

/* The inputs of a data set: those in the folder, or, of a NAME.onnx whose outputs lie beside it in
 * NAME_output_N.pb, what ONNX feeds its light models: 0, 1/n, 2/n .. of n elements. None for a
 * model that has no inputs. As vectors_open(). */
bool inputs_open(Arena *arena, const Inferred *inferred, const char *data_set, Vectors *out,
                 Error *err);

/* True when a file's value has the element type of the model's, is listed as it is, and has its
 * shape as far as that is known; else *err tells both. Older files have the bits of a bf16 as u16.
 */
bool vector_fits(const Inferred *inferred, int32_t tensor, const OnnxTensor *vector, Error *err);

#endif
