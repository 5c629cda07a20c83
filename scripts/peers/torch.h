/* torch.h - register_strategy: a policy file adds operator strategies, as built-in ones are.
 *
 * Strategy-based: a function that lists, for one mesh axis, the placements that all tensors of an
 * op may have together. The all-replicated row need not be listed. s(d) is a shard of dim d of any
 * kind.
 *
 *     register_strategy("native_layer_norm", function(inputs, attrs)
 *       local rows = {}
 *       for d = 0, #inputs[1].shape - #attrs.normalized_shape - 1 do
 *         rows[#rows + 1] = ("s(%d), R, R -> s(%d), s(%d), s(%d)"):format(d, d, d, d)
 *       end
 *       return rows
 *     end)
 *
 * Rule-based: a function of the actual placements that returns those of the outputs, or suggests
 * others for the inputs.
 *
 *     register_strategy("native_layer_norm", {rule = function(inputs, attrs)
 *       for i = 2, 3 do
 *         for _, placement in ipairs(inputs[i].placements) do
 *           if placement ~= "R" then return {suggest = .., why = "weight and bias stay whole"} end
 *         end
 *       end
 *       return {outputs = {inputs[1].placements}}
 *     end})
 *
 * An input is {shape = {8, 16}, dtype = "f32", placements = {"S(0)", "R"}}, one placement per mesh
 * axis; an absent one is nil. Dims and axes count from 0, lists from 1.
 */
#ifndef SCRIPTS_PEERS_TORCH_H
#define SCRIPTS_PEERS_TORCH_H

#include "scripts/lua_api.h"

extern const LuaEntry strategy_globals[]; /* register_strategy */
extern const LuaEntry strategy_types[], strategy_input_fields[], strategy_ruling_fields[];

#endif
