/* optimizer.h - reads `--train SPEC`, and says what an optimizer keeps for each parameter.
 *
 *     adamw,precision=bf16,grads=f32,clip=1.0,weight_decay=0.1,loss=auto
 *
 * Words separated by commas, in any order; "auto" is adamw in the model's precision. A word is an
 * optimizer of core/rules/optimizer.h, or KEY=VALUE:
 *
 *     precision   fp32, bf16, fp16: what parameters and activations have; without it, parameters
 *                 keep the dtype that they are stored in
 *     grads       f32 (the default) or bf16: gradients of 16-bit parameters, as they are added up;
 *                 other parameters have gradients of their own dtype
 *     clip        the largest norm of all gradients; 0, the default: any
 *     scale       the loss and so all gradients are multiplied by it, the update divides by it; 1.
 *                 "dynamic": it begins with 65536, halves when a gradient is not finite, and then
 *                 the step is skipped, doubles after 2000 good steps (torch.amp.GradScaler)
 *     ignore_index  labels that do not count in the added cross entropy, such as -100; its mean is
 *                 over those that count, on all devices
 *     label_smoothing  share of a label that all classes have alike, as torch's CrossEntropyLoss
 *     loss        "auto", or a tensor
 *     freeze      a pattern of parameters that do not train; may be given several times
 *     lr, beta1, weight_decay, ..   hyper-parameters that the optimizer takes
 *
 * A parameter of 16 bits has a master copy in f32, which is updated, then rounded to nearest even;
 * states are f32, or f64 for a parameter of f64. Bytes a parameter of bf16 under adamw: 2 itself, 4
 * gradient, 4 master, 4 + 4 moments.
 */
#ifndef CORE_STEP_OPTIMIZER_H
#define CORE_STEP_OPTIMIZER_H

#include "core/rules/optimizer.h"

typedef struct UpdateSpec {
    const Optimizer *optimizer;
    double hyper[HYPER_COUNT];
    Dtype precision; /* DT_NONE: that of each parameter */
    Dtype grads;     /* of 16-bit parameters */
    double clip;     /* 0: none */
    double scale;    /* of the loss; the initial one if it is dynamic */
    bool dynamic;    /* the scale depends on whether gradients are finite */
    bool ignores;    /* labels equal to ignore_index do not count */
    int64_t ignore_index;
    double smoothing; /* of labels */
    const char *loss;
    const char **freeze; /* patterns */
    int n_freeze;
} UpdateSpec;

/* Removes and returns the next word: up to a comma outside {}, since patterns contain commas. */
Str update_spec_word(Str *rest);

/* ERROR_USAGE names the unknown word; its hint is the nearest known one. */
bool update_spec_read(Arena *arena, const char *text, UpdateSpec *out, Error *err);

enum { UPDATE_VALUES_MAX = 1 + OPTIMIZER_STATES_MAX, VALUE_MASTER = -1 };

/* A tensor with the shape of a parameter that is kept from step to step. */
typedef struct {
    const char *name; /* "master", "m": for parameter T it is named "T~m" */
    Dtype dtype;
    int state;    /* index into optimizer->state; VALUE_MASTER: the copy that is updated */
    double start; /* its elements before the first step; a master starts with the parameter's */
} UpdateValue;

/* The dtype that a parameter stored in `stored` has in the step; its gradient has the same. */
Dtype update_parameter_dtype(const UpdateSpec *spec, Dtype stored);
Dtype update_gradient_dtype(const UpdateSpec *spec, Dtype stored);

/* Lists the master, if there is one, then the states, in the order in which the update operator
 * reads them; returns how many. */
int update_values(const UpdateSpec *spec, Dtype stored, UpdateValue out[UPDATE_VALUES_MAX]);

/* Bytes for each element of a parameter: itself, its gradient, master and states. */
int64_t update_bytes(const UpdateSpec *spec, Dtype stored);

#endif
