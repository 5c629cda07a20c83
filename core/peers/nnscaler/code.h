/* code.h - exports the plan as a PAS function for nnScaler. */
#ifndef CORE_PEERS_NNSCALER_CODE_H
#define CORE_PEERS_NNSCALER_CODE_H

#include "core/code/code.h"

CodeFn nnscaler_code;
StepCodeFn nnscaler_step;

#endif
