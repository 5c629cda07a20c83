/* recurrent.c - operators that walk a sequence with a state: RNN, GRU, LSTM. */
#include "core/rules/args.h"

const Operator operators_recurrent[] = {
    {0},
};
