#include "core/run/kernels/special.h"

SPECIAL_FUNCTIONS()
