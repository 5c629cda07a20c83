/* read.h - problems as JSON, in the form of the IOPDDL contest:
 *
 *     {"problem": {"name", "nodes": {"intervals": [[from, to)..], "costs": [[..]..],
 *                                    "usages": [[..]..]},
 *      "edges": {"nodes": [[a, b]..], "costs": [[costs row by row: choices of a x choices of
 * b]..]}, "usage_limit": most}}
 *
 * One choice a node; the sum of usages alive at any time stays within usage_limit. Without
 * usage_limit, or without intervals and usages, there is no limit. Other fields are ignored.
 * Source: github.com/google/iopddl.
 */
#ifndef CORE_SOLVE_READ_H
#define CORE_SOLVE_READ_H

#include "core/base/json.h"
#include "core/solve/problem.h"

/* Reads a parsed file into the arena. The error names the node or edge. */
bool solve_problem_read(Arena *arena, const Json *root, SolveProblem *out, Error *err);

#endif
