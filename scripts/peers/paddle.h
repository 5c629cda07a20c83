/* paddle.h - register_rule: a policy file adds rules of dims_mappings, as built-in ones are.
 *
 *     register_rule("my_matmul", {letters = "mk,kn->mn"})
 *     register_rule("my_max", {letters = "ab->a", reduce = "max"})
 *     register_rule("my_add", {
 *       forward = function(inputs, attrs)
 *         local x, y = inputs[1], inputs[2]
 *         local x_letters, y_letters, out_letters = spmd.binary_letters(x, y)
 *         local map = spmd.merge({{x_letters, x}, {y_letters, y}})
 *         return {spmd.mapping(x_letters, map), spmd.mapping(y_letters, map)},
 *                {spmd.mapping(out_letters, map)}
 *       end,
 *       backward = function(inputs, outputs, attrs) .. end,
 *     })
 *
 * A tensor is {shape = {64, 32}, dims_mapping = {-1, 0}, partial = {[1] = "sum"}}; an absent one is
 * nil. Axes and dims count from 0, lists from 1; a dim split by several axes is a list of them. A
 * function returns what each input must have and what each output gets: dims_mappings, or tables
 * {dims_mapping = .., partial = ..}. The helpers are those of Paddle's rules:
 *
 *     spmd.letters(n)                    "abc"
 *     spmd.binary_letters(x, y)          right-aligned: of x, of y, of the output
 *     spmd.merge({{letters, tensor}..})  letter -> list of axes
 *     spmd.mapping(letters, map)         the dims_mapping the letters come to
 *     spmd.partial(letters, map [, op])  axes of the map's letters that `letters` lacks -> op
 *     spmd.reshape_trans(from, to)       transforms: {from = {0,1}, sizes = {8,2}, piece = 0} each
 *     spmd.infer_from_trans(x, trans)    the dims_mapping x must have, and that of the result
 */
#ifndef SCRIPTS_PEERS_PADDLE_H
#define SCRIPTS_PEERS_PADDLE_H

#include "core/peers/paddle/spmd.h"
#include "scripts/lua_api.h"

extern const LuaEntry rule_globals[], spmd_functions[]; /* register_rule; of the global spmd */
extern const LuaEntry spmd_types[], spmd_tensor_fields[], spmd_transform_fields[],
    spmd_rule_fields[];

#endif
