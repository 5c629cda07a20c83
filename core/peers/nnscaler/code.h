/* code.h - the plan as nnScaler's PAS function. */
#ifndef CORE_PEERS_NNSCALER_CODE_H
#define CORE_PEERS_NNSCALER_CODE_H

#include "core/code/code.h"

CodeFn nnscaler_code;

#endif
