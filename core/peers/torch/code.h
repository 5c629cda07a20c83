/* code.h - exports the plan as a Python module for PyTorch, or for veScale. */
#ifndef CORE_PEERS_TORCH_CODE_H
#define CORE_PEERS_TORCH_CODE_H

#include "core/code/code.h"

CodeFn torch_code;       /* in torch's own styles if they say it, else exactly */
CodeFn torch_exact_code; /* placements of all parameters, inputs and modules */
CodeFn vescale_code;
CodeFn spmd_types_code; /* types for code of the user's own */

#endif
