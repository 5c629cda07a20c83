/* code.h - the plan as a module for PyTorch. */
#ifndef CORE_PEERS_TORCH_CODE_H
#define CORE_PEERS_TORCH_CODE_H

#include "core/code/code.h"

CodeFn torch_code;

#endif
