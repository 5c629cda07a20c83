#include "core/peers/nnscaler/anno_named_call.h"

/* The value of an attribute in a piece, or NULL if it does not change. */
typedef Json *(*NamedPiece)(const AnnoPartition *partition, const char *attr, const Json *value);

/* An annotation and its operators: nnScaler's names first, then torch's. */
typedef struct {
    const char *names; /* separated by spaces */
    const char *anno;  /* candidates, separated by '|' */
    NamedWriter write; /* if the text depends on shapes or attributes */
    int n_tensors;     /* the first inputs, which must be tensors */
    NamedPiece piece;  /* NULL if pieces keep all attributes */
} NamedRow;

static Json *piece_of_target(const AnnoPartition *partition, const char *attr, const Json *value);
static Json *piece_of_groups(const AnnoPartition *partition, const char *attr, const Json *value);

static const NamedRow rows[] = {
    /* one by one */
    {"neg sin cos tanh gelu silu relu sigmoid log_sigmoid logsigmoid abs clamp clamp_min", "* -> *",
     NULL, 1, NULL},
    {"exp sqrt rsqrt log erf ceil sign isnan isinf bitwise_not nan_to_num fill fill_", "* -> *",
     NULL, 1, NULL},
    {"dropout Dropout nn_dropout detach clone contiguous identity", "* -> *", NULL, 1, NULL},
    {"long int float bool", "* -> *", NULL, 1, NULL},
    {"to type_as", "* -> * | *, ? -> *", NULL, 1, NULL},
    {"zeros_like ones_like full_like rand_like randn_like", "* -> *", NULL, 1, NULL},
    {"type", NULL, named_type, 1, NULL},
    {"multiref multi_ref", NULL, named_multiref, 1, NULL},

    /* element-wise, of several tensors or numbers */
    {"add sub mul div true_divide mod fmod pow", NULL, named_broadcast, 0, NULL},
    {"floordiv floor_div floor_divide", NULL, named_broadcast, 0, NULL},
    {"eq ne gt lt ge le", NULL, named_broadcast, 0, NULL},
    {"compare_eq compare_ne compare_gt compare_lt compare_ge compare_le", NULL, named_broadcast, 0,
     NULL},
    {"bitwise_or", NULL, named_broadcast, 2, NULL},
    {"masked_fill masked_fill_", NULL, named_broadcast, 2, NULL},
    {"where", NULL, named_where, 1, NULL},
    {"accum", NULL, named_accum, 1, NULL},

    /* products */
    {"linear", "* k+, n k+ -> * n | * k^, n k^, n -> * n", NULL, 2, NULL},
    {"matmul mm",
     "k+, k+ -> 1 | m k+, k+ n -> m n | k+, k+ n -> n | m k+, k+ -> m | * m k+, k+ n -> * m n | "
     "m k+, * k+ n -> * m n | * m k+, * k+ n -> * m n",
     NULL, 2, NULL},
    {"dot", "k+, k+ -> 1", NULL, 2, NULL},
    {"outer", "n, m -> n m", NULL, 2, NULL},
    {"bmm batch_linear", "b m k+, b k+ n -> b m n", NULL, 2, NULL},
    {"baddbmm bmmadd", NULL, named_baddbmm, 3, NULL},
    {"addmm", NULL, named_addmm, 3, NULL},
    {"einsum ein_sum cube_ein_sum", NULL, named_einsum, 1, NULL},
    {"embedding cube_embedding", "*, n+ e -> * e", NULL, 2, NULL},
    {"scaled_dot_product_attention", NULL, named_attention, 3, NULL},

    /* creation */
    {"zeros ones empty full rand randn", NULL, named_made, 0, NULL},
    {"eye", NULL, named_eye, 0, NULL},
    {"arange cube_arange", NULL, named_arange, 0, NULL},
    {"linspace cube_linspace", NULL, named_linspace, 0, NULL},
    {"tensor new_tensor", NULL, named_tensor, 0, NULL},

    /* along dims */
    {"softmax log_softmax cumsum cum_sum", NULL, named_softmax, 1, NULL},
    {"triu tril", NULL, named_triangle, 1, NULL},
    {"roll", NULL, named_roll, 1, NULL},
    {"inverse", NULL, named_inverse, 1, NULL},
    {"svd", NULL, named_svd, 1, NULL},
    {"sum", NULL, named_sum, 1, NULL},
    {"mean norm", NULL, named_mean, 1, NULL},
    {"any torch_any", NULL, named_any, 1, NULL},
    {"max min", NULL, named_extreme, 1, NULL},
    {"topk", NULL, named_topk, 1, NULL},
    {"nonzero", NULL, named_nonzero, 1, NULL},
    {"layernorm layer_norm cube_layer_norm", NULL, named_layer_norm, 1, NULL},
    {"cross_entropy", NULL, named_cross_entropy, 2, NULL},
    {"nll_loss", NULL, named_nll_loss, 2, NULL},
    {"l1_loss", NULL, named_l1_loss, 2, NULL},

    /* rearranged */
    {"reshape view", NULL, named_reshape, 1, piece_of_target},
    {"expand", NULL, named_expand, 1, piece_of_target},
    {"expand_as", NULL, named_expand_as, 2, NULL},
    {"repeat", NULL, named_repeat, 1, NULL},
    {"squeeze", NULL, named_squeeze, 1, NULL},
    {"unsqueeze", NULL, named_unsqueeze, 1, NULL},
    {"transpose", NULL, named_transpose, 1, NULL},
    {"permute", NULL, named_permute, 1, NULL},
    {"flatten", NULL, named_flatten, 1, NULL},
    {"split", NULL, named_split, 1, NULL},
    {"chunk", NULL, named_chunk, 1, NULL},
    {"cat cube_cat", NULL, named_cat, 1, NULL},
    {"stack cube_stack", NULL, named_stack, 1, NULL},
    {"pad", NULL, named_pad, 1, NULL},
    {"diag", NULL, named_diag, 1, NULL},
    {"view_as_complex", NULL, named_view_as_complex, 1, NULL},
    {"view_as_real", NULL, named_view_as_real, 1, NULL},

    /* selected */
    {"select", NULL, named_select, 1, NULL},
    {"slice", NULL, named_slice, 1, NULL},
    {"select_scatter", NULL, named_select_scatter, 2, NULL},
    {"gather", NULL, named_gather, 1, NULL},
    {"index_select cube_index_select", NULL, named_index_select, 2, NULL},
    {"fullslice full_slice getitem get_item", NULL, named_getitem, 1, NULL},
    {"setitem set_item", NULL, named_setitem, 1, NULL},

    /* windows */
    {"conv1d", NULL, named_conv1d, 2, piece_of_groups},
    {"conv2d", NULL, named_conv2d, 2, piece_of_groups},
    {"conv_transpose1d", NULL, named_conv_transpose1d, 2, NULL},
    {"conv_transpose2d", NULL, named_conv_transpose2d, 2, NULL},
    {"unfold", NULL, named_unfold, 1, NULL},
    {"adaptive_avg_pool1d", NULL, named_adaptive_pool, 1, NULL},

    /* functions on values, or with their own way to split: no annotation */
    {"size shape shape_as_tensor _shape_as_tensor dim len item getattr get_attr finfo", NULL, NULL,
     0, NULL},
    {"tuple make_tuple list make_list make_slice dict_keys dict_values dict_items", NULL, NULL, 0,
     NULL},
    {"is is_not ifexpr fold_constant graph_anchor conv3d", NULL, NULL, 0, NULL},
};

static const NamedRow *find_row(Str op)
{
    for (size_t i = 0; op.n > 0 && i < sizeof rows / sizeof *rows; i++)
        if (str_has_word(str_from(rows[i].names), op))
            return &rows[i];
    return NULL;
}

/* ---- candidates ---- */

static int split_candidates(Arena *arena, const char *text, const char *const **out)
{
    int n = 1;
    for (const char *at = text; *at; at++)
        n += *at == '|';
    const char **list = arena_array(arena, const char *, n);
    Str rest = str_from(text);
    for (int i = 0; i < n; i++)
        list[i] = arena_str(arena, str_take(&rest, '|'));
    *out = list;
    return n;
}

/* A scalar is a tensor of one element with one dim. */
static void widen_scalars(AnnoInput *inputs, int n)
{
    for (int i = 0; i < n; i++)
        if (inputs[i].is_tensor && inputs[i].shape.n_dims == 0)
            inputs[i].shape = (Shape){1, {1}};
}

static bool accepts(const NamedRow *row, const NamedCall *call)
{
    for (int i = 0; i < row->n_tensors; i++)
        if (!named_has(call, i))
            return error_kind(
                call->err, ERROR_UNSUPPORTED,
                "'%s' has an annotation only if its first inputs are tensors, here %d", call->op,
                row->n_tensors);
    return true;
}

int anno_named(Arena *arena, Str op, AnnoInput *inputs, int n_inputs, const Json *values,
               const Json *attrs, const char *const **out, Error *err)
{
    const NamedRow *row = find_row(op);
    if (!row || (!row->anno && !row->write)) {
        if (!row)
            error_kind(err, ERROR_UNKNOWN_OP, "operator '%.*s' has no annotation", STR_ARG(op));
        else
            error_kind(err, ERROR_UNSUPPORTED, "nnScaler runs '%.*s' without an annotation",
                       STR_ARG(op));
        return -1;
    }
    NamedCall call = {.arena = arena,
                      .op = arena_str(arena, op),
                      .input = inputs,
                      .n_inputs = n_inputs,
                      .scalar = n_inputs > 0 && inputs[0].is_tensor && inputs[0].shape.n_dims == 0,
                      .values = values,
                      .attrs = attrs,
                      .err = err};
    widen_scalars(inputs, n_inputs);
    if (!accepts(row, &call))
        return -1;
    const char *text = row->anno ? row->anno : row->write(&call);
    return text ? split_candidates(arena, text, out) : -1;
}

/* ---- pieces ---- */

/* The target sizes are those of the output: the size of the sharded dim is divided. */
static Json *piece_of_target(const AnnoPartition *partition, const char *attr, const Json *value)
{
    if (!json_is_array(value) || (strcmp(attr, "shape") != 0 && strcmp(attr, "size") != 0))
        return NULL;
    const AnnoSplit *split = &partition->split[partition->match->anno->n_inputs];
    Json *list = json_array();
    for (int d = 0; d < json_size(value); d++) {
        int64_t size = json_int(json_at(value, d), -1);
        bool cut = size > 0 && split->n > 0 && split->dim[0] == d;
        json_add(list, json_from_int(cut ? size / partition->num : size));
    }
    return list;
}

/* If groups are sharded, `(g 4)`, a piece has some of them. */
static Json *piece_of_groups(const AnnoPartition *partition, const char *attr, const Json *value)
{
    if (strcmp(attr, "groups") != 0 || !str_eq(partition->identifier, STR("g")))
        return NULL;
    return json_from_int(json_int(value, 1) / partition->num);
}

Json *anno_named_piece(Str op, const AnnoPartition *partition, const char *attr, const Json *value)
{
    const NamedRow *row = find_row(op);
    return row && row->piece ? row->piece(partition, attr, value) : NULL;
}
