/* derivative.h - derivatives of elementwise operators, as expressions.
 *
 * A row is an operator, one of its inputs, and what the gradient `d` of the output gives to that
 * input's. a, b and c are what the operator's column `gradient` reads, in its order; p and q the
 * attributes, as in elementwise.h. Where there is a kink the value is torch's: 0 for Abs, Relu and
 * HardSigmoid, the negative side for LeakyRelu, 1 for Elu.
 */
#ifndef CORE_RUN_KERNELS_DERIVATIVE_H
#define CORE_RUN_KERNELS_DERIVATIVE_H

#include "core/run/kernel.h"

/* The call of the forward op, for kernels of its gradient that run or read it. Its operands are
 * what the gradient op reads, and gradients in place of outputs. An operand whose gradient is made
 * has the layout of that, and elements only if it is read too; one that is not looked at is whole
 * and has none. An absent gradient of an output has no elements. */
bool forward_call(const KernelCall *call, KernelCall *forward, Error *err);

#define DERIVATIVE_ROWS(D)                                                                         \
    D(DIV_0, "Div", 0, d / a)                                                                      \
    D(DIV_1, "Div", 1, -d *(a / b) / b)                                                            \
    D(TANH, "Tanh", 0, d *(1 - a * a))                                                             \
    D(SIGMOID, "Sigmoid", 0, d *(a * (1 - a)))                                                     \
    D(EXP, "Exp", 0, (d * a))                                                                      \
    D(LOG, "Log", 0, d / a)                                                                        \
    D(SQRT, "Sqrt", 0, d / (2 * a))                                                                \
    D(RELU, "Relu", 0, a > 0 ? d : 0)                                                              \
    D(WHERE_1, "Where", 1, a != 0 ? d : 0)                                                         \
    D(WHERE_2, "Where", 2, a != 0 ? 0 : d)

#endif
