#include "core/plan/stop.h"

/* ORDER STOP */
static const char *const names[STOP_COUNT] = {
    "none",   "closed",  "replicated", "taken",     "order",   "not-divisible", "frozen",  "whole",
    "window", "blocked", "reduce",     "parameter", "barrier", "overflow",      "no-rule", "rule",
};

const char *stop_name(Stop stop)
{
    return names[stop];
}
