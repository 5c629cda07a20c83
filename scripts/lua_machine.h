/* lua_machine.h - machine files: a Lua file that returns one table of numbers.
 *
 *     return {
 *         name = "h100x8", source = "where the numbers are from",
 *         devices_per_node = 8, memory_bytes = 80e9, memory_bytes_per_s = 3.35e12,
 *         flops_per_s = {f32 = 67e12, bf16 = 989e12}, launch_us = 2.0,
 *         inside = {name = "nvlink", latency_us = 2.0, bytes_per_s = 450e9},
 *         between = {name = "ib", latency_us = 5.0, bytes_per_s = 50e9},
 *     }
 *
 * These fields are required; flops_per_s needs f32, and types that it does not name run as f32.
 * Optional are vector_flops_per_s, matmul_share, memory_share, gather_share; in a link
 * shared_bytes_per_s, channels, channel_bytes_per_s; and nccl, a table with the fields of Tuning
 * (core/reshard/machine.h), where latencies are rows per algorithm, {ring = {LL, LL128, Simple}}; 0
 * or no row means that the combination does not exist. Other fields are errors.
 */
#ifndef SCRIPTS_LUA_MACHINE_H
#define SCRIPTS_LUA_MACHINE_H

#include "core/reshard/machine.h"
#include "scripts/lua_api.h"
#include "scripts/sandbox/lua_state.h"

/* Texts of *out live in the arena; an error keeps `path`. includes: NULL if the file may not
 * include others. ERROR_UNREADABLE: no such file; ERROR_SCRIPT: the file fails, or its table is not
 * of this form (with the place of the field in its own table if the text contains it). */
bool machine_read(Arena *arena, const char *path, const Includes *includes, Machine *out,
                  Error *err);

/* The fields of a machine file, as rows of help. */
void machine_entries(Arena *arena, ScriptEntries *rows);

#endif
