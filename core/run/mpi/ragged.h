/* ragged.h - an all-to-all that sends only the rows which are there: of what goes to experts and
 * back (core/plan/routed.h).
 *
 * How many rows each rank gets of another is known when the router has run. So the ranks first
 * exchange sizes, then messages: a bit for each row that could be there, and those rows whose bits
 * are set. A row is there unless all its bytes are 0, which is what the others are filled with: so
 * nothing is lost, whatever made the value.
 */
#ifndef CORE_RUN_MPI_RAGGED_H
#define CORE_RUN_MPI_RAGGED_H

#include "core/run/mpi/steps.h"

/* Elements of a row, where the first n_dims dims number the rows; 0 if rows are not alike at both
 * ends, or are too many for one call: then all are sent. Equal on all ranks. */
int64_t mpi_ragged_row(const MpiSteps *steps, const Collective *collective, Dtype dtype,
                       int n_dims);

/* A prepared step whose `row` is not 0. */
bool mpi_ragged_all_to_all(MpiSteps *steps, const MpiStep *step, const Local *source, Local *target,
                           Error *err);

#endif
