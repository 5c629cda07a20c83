/* activation.h - the activation at the end of a fused product (FusedConv, FusedGemm).
 *
 * Its derivative is a function of the result. The operators' attribute `activation` names it,
 * empty: none; its numbers are activation_alpha, activation_beta, or the list activation_params.
 */
#ifndef CORE_RUN_KERNELS_ACTIVATION_H
#define CORE_RUN_KERNELS_ACTIVATION_H

#include "core/run/kernel.h"

/* Output 0 becomes f(output 0 + addend), in double; addend NULL: none. */
bool activation_finish(const KernelCall *call, const Local *addend, Error *err);

/* A new part: the gradient times f'. The result of the forward op is the last input of the gradient
 * op. NULL with *err: there is no such activation. */
const Local *activation_gradient(const KernelCall *forward, const Local *grad,
                                 const KernelCall *call, Error *err);

#endif
