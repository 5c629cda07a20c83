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

typedef struct RecurrentLayer RecurrentLayer;
typedef struct RecurrentGradient RecurrentGradient;

/* One step of direction `d`: x_gates and h_gates of all the batch, to the states. */
typedef void StepFn(RecurrentLayer *layer, int64_t d, const double *x_gates, int64_t step);
/* The backward of a step: gradients of the states after the step become those before it. */
typedef void StepBackFn(RecurrentGradient *gradient, int64_t d, int64_t step);

typedef struct {
    int gates, n_states, n_activations;
    int n_notes;               /* numbers kept for each number of a state and step */
    const char *activation[3]; /* of a direction, by default */
    StepFn *step;
    StepBackFn *back;
} RecurrentCell;

struct RecurrentLayer {
    const KernelCall *call;
    const RecurrentCell *cell;
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

bool layer_open(const KernelCall *call, RecurrentLayer *out, Error *err);
/* x W' of direction `d` for all steps: [row][gates * h]. */
double *layer_inputs(const RecurrentLayer *layer, int64_t d);
/* The initial states of direction `d`; `layer` is at that direction then. */
void layer_begin(RecurrentLayer *layer, int64_t d);

int64_t layer_length(const RecurrentLayer *layer, int64_t batch); /* steps of a batch element */
/* Rows of x: of a batch element at a step. */
int64_t layer_row(const RecurrentLayer *layer, int64_t d, int64_t batch, int64_t step);
/* First elements of a state in outputs 0 and 1. */
int64_t layer_step_place(const RecurrentLayer *layer, int64_t d, int64_t batch, int64_t step);
int64_t layer_state_place(const RecurrentLayer *layer, int64_t d, int64_t batch);
double layer_clipped(const RecurrentLayer *layer, double x);
double layer_peephole(const RecurrentLayer *layer, int64_t d, int gate, int64_t k);

/* recurrent_gradient.c */
StepBackFn rnn_back, gru_back, lstm_back;
KernelFn recurrent_gradient;

#endif
