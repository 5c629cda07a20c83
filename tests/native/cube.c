/* cube.c - the gradient of y = x^3, element by element: dx = 3 dy x^2; and a wrong one. */
#include "dimscope_kernel.h"

DIMSCOPE_PLUGIN

static int64_t count(const DimscopeTensor *tensor)
{
    int64_t n = 1;
    for (int d = 0; d < tensor->n_dims; d++)
        n *= tensor->shape[d];
    return n;
}

/* Inputs: dy, x. */
int cube_gradient(const DimscopeCall *call)
{
    const double *dy = call->input[0]->data, *x = call->input[1]->data;
    double *dx = call->output[0]->data;
    for (int64_t i = 0; i < count(call->output[0]); i++)
        dx[i] = 3 * dy[i] * x[i] * x[i];
    return 0;
}

/* The factor is forgotten. */
int wrong_gradient(const DimscopeCall *call)
{
    const double *dy = call->input[0]->data, *x = call->input[1]->data;
    double *dx = call->output[0]->data;
    for (int64_t i = 0; i < count(call->output[0]); i++)
        dx[i] = dy[i] * x[i] * x[i];
    return 0;
}
