/* code.h - exports the plan as a Python module for Paddle. */
#ifndef CORE_PEERS_PADDLE_CODE_H
#define CORE_PEERS_PADDLE_CODE_H

#include "core/code/code.h"

CodeFn paddle_code;
StepCodeFn paddle_step;

#endif
