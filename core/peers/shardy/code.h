/* code.h - the plan as MLIR with sdy shardings. */
#ifndef CORE_PEERS_SHARDY_CODE_H
#define CORE_PEERS_SHARDY_CODE_H

#include "core/code/code.h"

CodeFn shardy_code;

#endif
