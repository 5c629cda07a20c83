/* embedding.c - rows of a table by number, as a kernel that dimscope loads.
 *
 *     cc -shared -fPIC -I core/run -o samples/native/libembedding.so samples/native/embedding.c
 *
 * A rank has the rows [start, stop) of the table, as its arguments say, and makes an addend of the
 * output: zeros for rows that it does not have.
 */
#include "dimscope_kernel.h"

#include <stdio.h>
#include <string.h>

DIMSCOPE_PLUGIN

static int64_t argument(const DimscopeCall *call, const char *name, int64_t fallback)
{
    for (int i = 0; i < call->n_args; i++)
        if (strcmp(call->arg[i].name, name) == 0 && call->arg[i].type == DIMSCOPE_INT)
            return call->arg[i].i;
    return fallback;
}

static int fail(const DimscopeCall *call, const char *what)
{
    snprintf(call->error, call->error_size, "%s", what);
    return 1;
}

int embedding(const DimscopeCall *call)
{
    const DimscopeTensor *ids = call->input[0], *table = call->input[1], *out = call->output[0];
    if (strcmp(ids->dtype, "i64") != 0 || strcmp(table->dtype, "f32") != 0 ||
        strcmp(out->dtype, "f32") != 0)
        return fail(call, "it takes i64 numbers of rows and an f32 table, and gives f32");
    const int64_t *id = ids->data;
    const float *rows = table->data;
    float *to = out->data;
    int64_t width = table->shape[1], n = 1;
    int64_t start = argument(call, "start", 0);
    int64_t stop = argument(call, "stop", start + table->shape[0]);
    if (stop - start != table->shape[0])
        return fail(call, "start and stop are not those of this part");
    for (int d = 0; d < ids->n_dims; d++)
        n *= ids->shape[d];
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < width; e++)
            to[i * width + e] =
                id[i] >= start && id[i] < stop ? rows[(id[i] - start) * width + e] : 0;
    return 0;
}
