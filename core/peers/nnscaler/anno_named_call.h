/* anno_named_call.h - helpers for the writers of nnScaler's annotations; internal to anno_named*.c.
 *
 * A writer gets the call of one operator, its tensors' shapes and its attributes, and returns the
 * text of its annotation; candidates are separated by '|'. It uses letters in order, one a dim of a
 * tensor, marks those that may not be sharded (`c^`) or are summed (`c+`), replaces some by a size
 * (`3`), and joins them to text. A failing writer returns NULL with the reason in call->err;
 * failing helpers set call->failed, so a writer may continue and named_text() returns NULL. Texts
 * are in the arena. Source: nnScaler 0.9.
 */
#ifndef CORE_PEERS_NNSCALER_ANNO_NAMED_CALL_H
#define CORE_PEERS_NNSCALER_ANNO_NAMED_CALL_H

#include "core/peers/nnscaler/anno_named.h"

typedef struct {
    Arena *arena;
    const char *op;
    const AnnoInput *input; /* a scalar has shape [1] here, as in nnScaler */
    int n_inputs;
    bool scalar;        /* the first input was a scalar */
    const Json *values; /* the inputs of the request, for `value` of non-tensors; may be NULL */
    const Json *attrs;  /* may be NULL */
    int n_letters;      /* used so far */
    bool failed;
    Error *err;
} NamedCall;

typedef const char *(*NamedWriter)(NamedCall *call);

/* One tensor's dims as text. */
typedef struct {
    int n;
    const char *dim[DIMS_MAX + 1]; /* a result may have one dim more than an input */
} NamedDims;

/* Fails the call: for `return named_fail(call, ERROR_RANK, "...")`. */
const char *named_fail(NamedCall *call, ErrorKind kind, const char *why);

const Shape *named_shape(const NamedCall *call, int input);
bool named_has(const NamedCall *call, int input); /* present, and a tensor */
bool named_rank(NamedCall *call, int input, int least, int most);

NamedDims named_letters(NamedCall *call, int n_dims); /* the next letters, one a dim */
NamedDims named_frozen(NamedCall *call, int n_dims);  /* the same, marked `^` */
NamedDims named_first(NamedCall *call, int n_dims);   /* letters from `a` again */
const char *named_number(NamedCall *call, int64_t size);
const char *named_mark(NamedCall *call, const char *dim, char suffix); /* '^' or '+' */
NamedDims named_ignored(void);                                         /* `?` */
void named_remove(NamedDims *dims, int at);
void named_insert(NamedCall *call, NamedDims *dims, int at, const char *dim);

/* "a b, b -> a b"; NULL if the call failed. */
const char *named_text(NamedCall *call, const NamedDims *in, int n_in, const NamedDims *out,
                       int n_out);
const char *named_one(NamedCall *call, const NamedDims *in, const NamedDims *out);

/* Read attributes; the result is NULL or the fallback if the attribute is absent or null. Numbers
 * are limited to 2^31, so that sizes computed from them stay in range. */
const Json *named_attr(const NamedCall *call, const char *name);
bool named_true(const NamedCall *call, const char *name, bool fallback);
int64_t named_int(NamedCall *call, const char *name, int64_t fallback);
int named_dim(NamedCall *call, const char *name, int n_dims, int fallback); /* from 0 */
int named_dim_of(NamedCall *call, const Json *value, int n_dims);
int named_dims(NamedCall *call, const char *name, int n_dims, bool *marked); /* how many */
bool named_list(NamedCall *call, const char *name, Shape *out); /* an integer or a list of them */
int64_t named_int_of(NamedCall *call, const Json *value);
int64_t named_times(NamedCall *call, int64_t a, int64_t b); /* product, checked */

/* ---- the writers, by file ---- */

/* anno_named_pointwise.c */
const char *named_broadcast(NamedCall *call);
const char *named_where(NamedCall *call);
const char *named_accum(NamedCall *call);
const char *named_multiref(NamedCall *call);
const char *named_type(NamedCall *call);
const char *named_addmm(NamedCall *call);
const char *named_baddbmm(NamedCall *call);
const char *named_einsum(NamedCall *call);
const char *named_made(NamedCall *call);
const char *named_eye(NamedCall *call);
const char *named_arange(NamedCall *call);
const char *named_linspace(NamedCall *call);
const char *named_tensor(NamedCall *call);

/* anno_named_fold.c */
const char *named_softmax(NamedCall *call);
const char *named_triangle(NamedCall *call);
const char *named_roll(NamedCall *call);
const char *named_inverse(NamedCall *call);
const char *named_sum(NamedCall *call);
const char *named_mean(NamedCall *call);
const char *named_any(NamedCall *call);
const char *named_extreme(NamedCall *call);
const char *named_topk(NamedCall *call);
const char *named_nonzero(NamedCall *call);
const char *named_layer_norm(NamedCall *call);
const char *named_cross_entropy(NamedCall *call);
const char *named_nll_loss(NamedCall *call);
const char *named_l1_loss(NamedCall *call);
const char *named_svd(NamedCall *call);
const char *named_attention(NamedCall *call);

/* anno_named_move.c */
const char *named_expand(NamedCall *call);
const char *named_expand_as(NamedCall *call);
const char *named_repeat(NamedCall *call);
const char *named_squeeze(NamedCall *call);
const char *named_unsqueeze(NamedCall *call);
const char *named_transpose(NamedCall *call);
const char *named_permute(NamedCall *call);
const char *named_flatten(NamedCall *call);
const char *named_split(NamedCall *call);
const char *named_chunk(NamedCall *call);
const char *named_cat(NamedCall *call);
const char *named_stack(NamedCall *call);
const char *named_pad(NamedCall *call);
const char *named_diag(NamedCall *call);
const char *named_view_as_complex(NamedCall *call);
const char *named_view_as_real(NamedCall *call);

/* anno_named_reshape.c */
const char *named_reshape(NamedCall *call);

/* anno_named_index.c */
const char *named_select(NamedCall *call);
const char *named_slice(NamedCall *call);
const char *named_select_scatter(NamedCall *call);
const char *named_gather(NamedCall *call);
const char *named_index_select(NamedCall *call);
const char *named_getitem(NamedCall *call);
const char *named_setitem(NamedCall *call);

/* anno_named_window.c */
const char *named_conv1d(NamedCall *call);
const char *named_conv2d(NamedCall *call);
const char *named_conv_transpose1d(NamedCall *call);
const char *named_conv_transpose2d(NamedCall *call);
const char *named_unfold(NamedCall *call);
const char *named_adaptive_pool(NamedCall *call);

#endif
