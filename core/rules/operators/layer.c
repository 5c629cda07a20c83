/* layer.c - normalisations over channels and groups, whole layers: attention, recurrent cells. */
#include "core/rules/args.h"

const Operator operators_layer[] = {
    {0},
};
