/* recurrent.h - RNN, GRU and LSTM layers as one rank holds them, for their kernel and its
 * gradient's.
 */
#ifndef CORE_RUN_KERNELS_RECURRENT_H
#define CORE_RUN_KERNELS_RECURRENT_H

#include "core/run/kernel.h"

typedef struct {
    const char *name;
    double alpha, beta;
    bool takes_alpha, takes_beta;
    double (*of)(double x, double alpha, double beta);
    double (*slope)(double x, double alpha, double beta);
} Activation;

enum { ACTIVATIONS_MAX = 6, STATES_MAX = 2 };

typedef struct Layer Layer;
typedef struct LayerGradient LayerGradient;

/* One step of direction `d`: x_gates and h_gates of all the batch, to the states. */
typedef void StepFn(Layer *layer, int64_t d, const double *x_gates, int64_t step);
/* Back: gradients of the states after the step become those before it. */
typedef void StepBackFn(LayerGradient *gradient, int64_t d, int64_t step);

typedef struct {
    int gates, n_states, n_activations;
    int n_notes;               /* numbers kept of each number of a state and step */
    const char *activation[3]; /* of a direction, by default */
    StepFn *step;
    StepBackFn *back;
} Cell;

struct Layer {
    const KernelCall *call;
    const Cell *cell;
    int64_t s, b, i, r, h; /* steps, batch, inputs, directions, numbers of a state: local */
    bool batch_first, linear_before_reset, input_forget;
    double clip;                            /* infinity: none */
    Activation activation[ACTIVATIONS_MAX]; /* of all directions of the op */
    const Activation *f;                    /* of the current direction */
    const int64_t *direction;               /* global indices */
    bool reverse;                           /* the one direction is */
    const double *x, *w, *recurrence, *bias, *length, *peephole;
    double *state[STATES_MAX]; /* [b][h] of the current direction: H, C */
    double *h_gates, *scratch; /* [b][gates * h], [b][h] */
    double *notes; /* [b][n_notes][h] of the current step: what activations are taken of; the last
                    * of a GRU is its recurrent term before the reset. NULL: not kept */
};

bool layer_open(const KernelCall *call, Layer *out, Error *err);
/* x W' of direction `d` for all steps: [row][gates * h]. */
double *layer_inputs(const Layer *layer, int64_t d);
/* The initial states of direction `d`; `layer` is at that direction then. */
void layer_begin(Layer *layer, int64_t d);

int64_t layer_length(const Layer *layer, int64_t batch); /* steps of a batch element */
/* Rows of x: of a batch element at a step. */
int64_t layer_row(const Layer *layer, int64_t d, int64_t batch, int64_t step);
/* First elements of a state in outputs 0 and 1. */
int64_t layer_step_place(const Layer *layer, int64_t d, int64_t batch, int64_t step);
int64_t layer_state_place(const Layer *layer, int64_t d, int64_t batch);
double layer_clipped(const Layer *layer, double x);
double layer_peephole(const Layer *layer, int64_t d, int gate, int64_t k);

/* recurrent_gradient.c */
StepBackFn rnn_back, gru_back, lstm_back;
KernelFn recurrent_gradient;

#endif
