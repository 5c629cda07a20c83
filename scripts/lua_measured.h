/* lua_measured.h - reads the field `measured` of a machine file: core/reshard/measured.h. */
#ifndef SCRIPTS_LUA_MEASURED_H
#define SCRIPTS_LUA_MEASURED_H

#include "core/reshard/measured.h"

#include <lua.h>

/* Reads the table at the top of the stack:
 *
 *     {operators = {{operator = "Add", dtype = "f32", points = {{BYTES, US}, ..}},
 *                   {operator = "MatMul", dtype = "f32", points = {{BATCH, M, N, K, US}, ..}}},
 *      collectives = {{collective = "all_reduce", ranks = 2, latency_us = 5, bytes_per_s = 4e9}}}
 *
 * Returns NULL with *err, which has no place. In the arena. */
const Measured *measured_read(lua_State *L, Arena *arena, Error *err);

#endif
