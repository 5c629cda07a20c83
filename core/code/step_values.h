/* step_values.h - what a plan of a training step contains beyond its model, for systems that derive
 * the step themselves: how gradients and optimizer states are stored, what is recomputed, the
 * schedule. */
#ifndef CORE_CODE_STEP_VALUES_H
#define CORE_CODE_STEP_VALUES_H

#include "core/code/parallel.h"
#include "core/code/values.h"

typedef Vec(const char *) Paths;

typedef struct {
    int32_t parameter;        /* id in the model and in the step */
    const char *name;         /* of values_of() */
    int32_t gradient, states; /* Shardings ids in the step's plan: as the update reads it, as
                                 they are stored; -1: absent */
} StepParameter;

typedef struct {
    Vec(StepParameter) at; /* parameters that train, in the order of values_of() */
    Paths again;           /* modules that run again in the backward pass */
    Parallel parallel;     /* schedule, micro-batches, which values of parameters are sharded */
    int n_stages;          /* 1 without */
} StepValues;

/* model: session_of_model(step). Everything is in the arena. */
StepValues step_values(Arena *arena, const Session *model, const Session *step);

/* The modules of a plan of the model that run again in the backward pass. */
Paths step_again(Arena *arena, const Session *model);
/* The Shardings id in which the update reads a gradient; -1 if no update does. */
int32_t step_gradient_read(const Session *step, int32_t gradient);

/* Writes "# Of the training step 'adamw': " and what the system expresses itself; then a sentence
 * for each thing it does not, as comments and as notes. comment: "#" or "//". */
void step_put_head(const Session *step, const char *comment, const char *said,
                   const char *const *unsaid, int n_unsaid, Buf *out, ExportNotes *notes);

#endif
