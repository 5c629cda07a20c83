/* ragged.h - an all-to-all that sends only the rows that exist: tokens that go to experts and back
 * (core/plan/routed.h).
 *
 * The number of rows that a rank gets from another is known only after the router has run. So the
 * ranks first exchange sizes, then messages: a bit for each possible row, and the rows whose bits
 * are set. A row exists unless all its bytes are 0, with which the others are filled; so nothing is
 * lost, whatever made the value.
 */
#ifndef CORE_RUN_MPI_RAGGED_H
#define CORE_RUN_MPI_RAGGED_H

#include "core/run/mpi/steps.h"

/* Elements of a row, if the first n_dims dims number the rows; 0 if rows differ at the two ends or
 * are too many for one call: then all rows are sent. Equal on all ranks. */
int64_t mpi_ragged_row(const MpiSteps *steps, const Collective *collective, Dtype dtype,
                       int n_dims);

/* A prepared step whose `row` is not 0. */
bool mpi_ragged_all_to_all(MpiSteps *steps, const MpiStep *step, const Local *source, Local *target,
                           Error *err);

#endif
