#include "core/run/mpi/types.h"

#include "core/run/kernel.h"

bool mpi_fine(int code, const char *call, Error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (code == MPI_SUCCESS)
        return true;
    MPI_Error_string(code, text, &n);
    return error_kind(err, ERROR_RUN, "%s: %s", call, text);
}

/* ---- our own reductions ---- */

static void combine(ReduceOp reduce, const void *from, void *to, int n, MPI_Datatype type)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Type_get_name(type, name, &length);
    Dtype dtype = dtype_from_name((Str){name, (size_t)length});
    if (!kernel_combine(reduce, dtype, to, from, 1, n))
        MPI_Abort(MPI_COMM_WORLD, 5); /* callers have checked the element type */
}

#define COMBINE(reduce, name)                                                                      \
    static void combine_##name(void *from, void *to, int *n, MPI_Datatype *type)                   \
    {                                                                                              \
        combine(reduce, from, to, *n, *type);                                                      \
    }
COMBINE(REDUCE_SUM, sum)
COMBINE(REDUCE_MAX, max)
COMBINE(REDUCE_MIN, min)
COMBINE(REDUCE_PROD, prod)
COMBINE(REDUCE_ANY, any)
COMBINE(REDUCE_ALL, all)

static MPI_User_function *const combines[REDUCE_KINDS] = {
    [REDUCE_SUM] = combine_sum, [REDUCE_AVG] = combine_sum,   [REDUCE_MAX] = combine_max,
    [REDUCE_MIN] = combine_min, [REDUCE_PROD] = combine_prod, [REDUCE_ANY] = combine_any,
    [REDUCE_ALL] = combine_all,
};

bool mpi_types_open(MpiTypes *types, Error *err)
{
    *types = (MpiTypes){.element = {0}};
    for (int t = 0; t < DT_COUNT; t++) {
        types->element[t] = MPI_DATATYPE_NULL;
        int n_bytes = t == DT_NONE ? 0 : (int)element_bytes((Dtype)t);
        if (n_bytes == 0)
            continue;
        if (!MPI_CALL(err, MPI_Type_contiguous, n_bytes, MPI_BYTE, &types->element[t]) ||
            !MPI_CALL(err, MPI_Type_commit, &types->element[t]) ||
            !MPI_CALL(err, MPI_Type_set_name, types->element[t], dtype_name((Dtype)t)))
            return false;
    }
    for (int r = 0; r < REDUCE_KINDS; r++) {
        types->combine[r] = MPI_OP_NULL;
        if (combines[r] && !MPI_CALL(err, MPI_Op_create, combines[r], 1, &types->combine[r]))
            return false;
    }
    return true;
}

void mpi_types_close(MpiTypes *types)
{
    for (int t = 0; t < DT_COUNT; t++)
        if (types->element[t] != MPI_DATATYPE_NULL)
            MPI_Type_free(&types->element[t]);
    for (int r = 0; r < REDUCE_KINDS; r++)
        if (types->combine[r] != MPI_OP_NULL)
            MPI_Op_free(&types->combine[r]);
}

/* ---- MPI's own ---- */

typedef struct {
    Dtype dtype;
    MPI_Datatype type;
} Native;

void mpi_reduction(const MpiTypes *types, Dtype dtype, ReduceOp reduce, MPI_Datatype *type,
                   MPI_Op *op)
{
    const Native natives[] = {
        {DT_F32, MPI_FLOAT},   {DT_F64, MPI_DOUBLE},   {DT_I8, MPI_INT8_T},
        {DT_U8, MPI_UINT8_T},  {DT_I16, MPI_INT16_T},  {DT_U16, MPI_UINT16_T},
        {DT_I32, MPI_INT32_T}, {DT_U32, MPI_UINT32_T}, {DT_I64, MPI_INT64_T},
    };
    bool sum = reduce == REDUCE_SUM || reduce == REDUCE_AVG, prod = reduce == REDUCE_PROD;
    bool order = !dtype_is_float(dtype) && (reduce == REDUCE_MAX || reduce == REDUCE_MIN);
    *type = types->element[dtype];
    *op = types->combine[reduce];
    for (size_t i = 0; i < sizeof natives / sizeof *natives; i++)
        if (natives[i].dtype == dtype && (sum || prod || order)) {
            *type = natives[i].type;
            *op = sum ? MPI_SUM : prod ? MPI_PROD : reduce == REDUCE_MAX ? MPI_MAX : MPI_MIN;
        }
}
