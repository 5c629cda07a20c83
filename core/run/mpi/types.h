/* types.h - element types and reductions of MPI.
 *
 * Each element type is an MPI type of its own, so counts are elements and a reduction finds the
 * type by its name. MPI's own types and operations are used where they agree with kernel_combine()
 * up to the order of a sum; kernel_combine() does the rest: f16, bf16, small floats, bool, and max
 * and min of floats, where NaN wins.
 */
#ifndef CORE_RUN_MPI_TYPES_H
#define CORE_RUN_MPI_TYPES_H

#include "core/base/error.h"
#include "core/model/dtype.h"
#include "core/space/opspace.h"

#include <mpi.h>

enum { REDUCE_KINDS = REDUCE_ALL + 1 };

typedef struct {
    MPI_Datatype element[DT_COUNT];
    MPI_Op combine[REDUCE_KINDS];
} MpiTypes;

/* Converts an error of MPI to ERROR_RUN. */
bool mpi_fine(int code, const char *call, Error *err);

/* Calls a function of MPI; false with *err, which names it, when it fails. */
#define MPI_CALL(err, call, ...) mpi_fine(call(__VA_ARGS__), #call, err)

bool mpi_types_open(MpiTypes *types, Error *err);
void mpi_types_close(MpiTypes *types);

/* The MPI type and operation of a reduction. */
void mpi_reduction(const MpiTypes *types, Dtype dtype, ReduceOp reduce, MPI_Datatype *type,
                   MPI_Op *op);

#endif
