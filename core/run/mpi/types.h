/* types.h - elements of tensors and reductions as MPI knows them.
 *
 * An element is a type of its own, so that counts are elements and a reduction finds what it
 * computes on by the type's name. MPI's own types and operations are used where they give what
 * kernel_combine() gives, up to the order of a sum; all else is done by that function: f16, bf16,
 * small numbers, bool, and the largest of floats, where NaN wins here.
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

/* False with ERROR_RUN where MPI says that a call failed. */
bool mpi_fine(int code, const char *call, Error *err);

/* Calls a function of MPI; false with *err, which names it, when it fails. */
#define MPI_CALL(err, call, ...) mpi_fine(call(__VA_ARGS__), #call, err)

bool mpi_types_open(MpiTypes *types, Error *err);
void mpi_types_close(MpiTypes *types);

/* The type to reduce elements in, and the operation. */
void mpi_reduction(const MpiTypes *types, Dtype dtype, ReduceOp reduce, MPI_Datatype *type,
                   MPI_Op *op);

#endif
