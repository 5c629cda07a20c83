/* step_values.h - what a plan of a training step says beside its model, for systems that derive the
 * step themselves: how gradients and states of the optimizer lie, what is computed again, the
 * schedule. */
#ifndef CORE_CODE_STEP_VALUES_H
#define CORE_CODE_STEP_VALUES_H

#include "core/code/parallel.h"
#include "core/code/values.h"

typedef Vec(const char *) Paths;

typedef struct {
    int32_t parameter;        /* tensor of the model and of the step */
    const char *name;         /* of values_of() */
    int32_t gradient, states; /* Shardings ids of the step's plan: as the update reads it, as they
                                 are stored; -1: it has none */
} StepParameter;

typedef struct {
    Vec(StepParameter) at; /* that train, in the order of values_of() */
    Paths again;           /* modules that run again in the backward pass */
    Parallel parallel;     /* schedule, micro-batches, what of parameters is sharded */
    int n_stages;          /* 1 without */
} StepValues;

/* model: session_of_model(step). Everything is in the arena. */
StepValues step_values(Arena *arena, const Session *model, const Session *step);

/* The modules of a plan of the model that run again in the backward pass. */
Paths step_again(Arena *arena, const Session *model);
/* How the update of its parameter reads a gradient: Shardings id; -1 if none does. */
int32_t step_gradient_read(const Session *step, int32_t gradient);

/* "# Of the training step 'adamw': " and what the system says itself; then each sentence of what it
 * does not, as comments and as notes. comment: "#" or "//". */
void step_put_head(const Session *step, const char *comment, const char *said,
                   const char *const *unsaid, int n_unsaid, Buf *out, ExportNotes *notes);

#endif
