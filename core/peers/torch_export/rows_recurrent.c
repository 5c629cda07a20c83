/* rows_recurrent.c - torch's LSTM, GRU and RNN: an op of ONNX a layer, both directions in one. */
#include "core/peers/torch_export/shapes.h"

enum { GATES_MAX = 4, LIST_MAX = 4 * 2 * 64 };

/* Torch's gates in the order of ONNX: i f g o is i o f g (its c), r z n is z r n (its h). */
typedef struct {
    const char *op; /* of ONNX */
    int n_gates, gate[GATES_MAX];
    bool cell;              /* a second state */
    const char *activation; /* of ONNX, if it is another one */
} Recurrent;

static const Recurrent lstm = {"LSTM", 4, {0, 3, 1, 2}, true, NULL};
static const Recurrent gru = {"GRU", 3, {1, 0, 2}, false, NULL};
static const Recurrent rnn_tanh = {"RNN", 1, {0}, false, NULL};
static const Recurrent rnn_relu = {"RNN", 1, {0}, false, "Relu"};

typedef struct {
    Call *c;
    const Recurrent *kind;
    Terms weights; /* of each layer and direction: input, hidden, and their biases */
    int n_directions, n_of_each;
    int64_t hidden;
} Layers;

static ExportTerm part(Call *c, ExportTerm x, int64_t first, int64_t end)
{
    return slice(c, x, 0, term_int(first), term_int(end), 1);
}

static ExportTerm reordered(const Layers *l, ExportTerm x)
{
    ExportTerm gates[GATES_MAX];
    if (l->kind->n_gates == 1)
        return x;
    for (int g = 0; g < l->kind->n_gates; g++)
        gates[g] = part(l->c, x, l->kind->gate[g] * l->hidden, (l->kind->gate[g] + 1) * l->hidden);
    return concat(l->c, gates, l->kind->n_gates, 0);
}

/* Weight `which` of both directions, [directions, gates * hidden, ..]. */
static ExportTerm weight(const Layers *l, int layer, int which)
{
    ExportTerm sides[2];
    for (int d = 0; d < l->n_directions; d++) {
        int at = (layer * l->n_directions + d) * l->n_of_each + which;
        sides[d] = unsqueeze(l->c, reordered(l, l->weights.at[at]), 0);
    }
    return l->n_directions == 1 ? sides[0] : concat(l->c, sides, 2, 0);
}

/* x [steps, batch, features] -> [steps, batch, directions * hidden], and the last states. */
static ExportTerm run_layer(const Layers *l, int layer, ExportTerm x, const Terms *states,
                            ExportTerm *last)
{
    Call *c = l->c;
    Export *e = c->e;
    ExportTerm in[8] = {x,         weight(l, layer, 0), weight(l, layer, 1), no_term(),
                        no_term(), no_term(),           no_term(),           no_term()};
    if (l->n_of_each == 4)
        in[3] = concat(c, (ExportTerm[]){weight(l, layer, 2), weight(l, layer, 3)}, 2, 1);
    int64_t first = (int64_t)layer * l->n_directions;
    for (int s = 0; s < states->n; s++)
        in[5 + s] = part(c, states->at[s], first, first + l->n_directions);
    Attr attrs[4];
    Str name = str_from(l->kind->activation ? l->kind->activation : ""),
        activations[] = {name, name};
    int n_attrs = 0;
    attrs[n_attrs++] = attr_int(e, "hidden_size", l->hidden);
    if (l->n_directions == 2)
        attrs[n_attrs++] = attr_text(e, "direction", STR("bidirectional"));
    if (l->kind == &gru)
        attrs[n_attrs++] = attr_int(e, "linear_before_reset", 1);
    if (l->kind->activation) {
        Attr attr = attr_text(e, "activations", activations[0]);
        attr.type = ATTR_STRINGS;
        attr.n = l->n_directions;
        attr.strings = activations;
        attrs[n_attrs++] = attr;
    }
    ExportTerm out[3];
    int n_out = l->kind->cell ? 3 : 2;
    emit_many(c, l->kind->op, in, l->kind->cell ? 7 : 6, attrs, n_attrs, out, n_out);
    out[0].rank = 4;
    for (int s = 0; s + 1 < n_out; s++) {
        out[s + 1].rank = 3;
        last[s] = out[s + 1];
    }
    if (l->n_directions == 1)
        return squeeze(c, out[0], 1);
    ExportTerm sides[2];
    for (int d = 0; d < 2; d++)
        sides[d] = squeeze(c, slice(c, out[0], 1, term_int(d), term_int(d + 1), 1), 1);
    return concat(c, sides, 2, 2);
}

static bool read_layers(Call *c, const Recurrent *kind, Layers *out, int *n_layers)
{
    *out = (Layers){.c = c, .kind = kind};
    call_terms(c, "params", &out->weights);
    int64_t layers = call_int(c, "num_layers");
    out->n_directions = call_bool(c, "bidirectional") ? 2 : 1;
    out->n_of_each = call_bool(c, "has_biases") ? 4 : 2;
    *n_layers = (int)layers;
    if (layers < 1 || out->weights.n > LIST_MAX ||
        out->weights.n != layers * out->n_directions * out->n_of_each)
        return call_fail(c, "%d weights for %d layers are not read: it projects its states",
                         out->weights.n, (int)layers);
    ExportTerm hidden = size_of(c, out->weights.at[1], 1);
    out->hidden = hidden.i;
    if (hidden.kind != TERM_NUMBER)
        return call_fail(c, "the size of its states is not known");
    return !call_bool(c, "train") || call_float(c, "dropout") <= 0 ||
           call_fail(c, "dropout between layers is not read");
}

static void make_recurrent(Call *c, const Recurrent *kind)
{
    Layers l;
    Terms states = {0};
    int n_layers;
    ExportTerm x = call_tensor(c, "input"), last[2][64], results[3];
    if (!read_layers(c, kind, &l, &n_layers))
        return;
    if (kind->cell)
        call_terms(c, "hx", &states);
    else
        vec_push(c->e->scratch, &states, call_tensor(c, "hx"));
    if (x.rank != 3 || n_layers > 64 || states.n != 1 + kind->cell) {
        call_fail(c, "an input of %d dims, states of %d tensors are not read", x.rank, states.n);
        return;
    }
    bool batch_first = call_bool(c, "batch_first");
    x = batch_first ? swap_dims(c, x, 0, 1) : x;
    for (int layer = 0; layer < n_layers; layer++) {
        ExportTerm made[2];
        x = run_layer(&l, layer, x, &states, made);
        for (int s = 0; s < states.n; s++)
            last[s][layer] = made[s];
    }
    results[0] = batch_first ? swap_dims(c, x, 0, 1) : x;
    for (int s = 0; s < states.n; s++)
        results[1 + s] = n_layers == 1 ? last[s][0] : concat(c, last[s], n_layers, 0);
    call_results(c, results, 1 + states.n);
}

static void make_lstm(Call *c)
{
    make_recurrent(c, &lstm);
}

static void make_gru(Call *c)
{
    make_recurrent(c, &gru);
}

static void make_rnn_relu(Call *c)
{
    make_recurrent(c, &rnn_relu);
}

static void make_rnn_tanh(Call *c)
{
    make_recurrent(c, &rnn_tanh);
}

#define RECURRENT "input hx params has_biases num_layers dropout train bidirectional batch_first"

const TorchRow rows_recurrent[] = {
    {"lstm.input", RECURRENT, NULL, make_lstm},
    {"gru.input", RECURRENT, NULL, make_gru},
    {"rnn_relu.input", RECURRENT, NULL, make_rnn_relu},
    {"rnn_tanh.input", RECURRENT, NULL, make_rnn_tanh},
    {0},
};
