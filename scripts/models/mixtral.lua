-- mixtral.lua: Mixtral (Jiang et al. 2024) from a config.json of "model_type": "mixtral".
-- Parameters are those of MixtralForCausalLM, the experts of a layer stacked:
-- block_sparse_moe.experts.w1.weight is [8, 14336, 4096]. 46,702,792,704 in Mixtral-8x7B.
-- config.capacity_factor: places of an expert's queue, lib/moe.lua; 1 where it is not there.

local decoder = include "lib/decoder"
local attention = include "lib/attention"
local moe = include "lib/moe"

-- Softmax over the scores of those chosen, which is that over all of them, scaled to sum 1.
local function choose(model, x, options)
    local scores, chosen = model:op("TopK", {moe.scores(model, x, options), {options.top_k}},
        {axis = -1}, 2)
    local weights = model:op("Softmax", {scores}, {axis = -1})
    if model.dtype ~= "f32" then weights = attention.cast(model, weights, model.dtype) end
    return weights, chosen
end

function MODEL(model, config)
    local options = {
        width = model:size("hidden_size"), hidden = model:size("intermediate_size"),
        experts = model:size("num_local_experts"), top_k = model:size("num_experts_per_tok"),
        capacity_factor = model:number("capacity_factor", 1),
        act = model:text("hidden_act", "silu")}
    decoder.build(model, config, {
        window = model:size("sliding_window", false) or nil,
        mlp = function(x)
            return model:module("block_sparse_moe", function()
                local weights, chosen = choose(model, x, options)
                return moe.exchange(model, x, weights, chosen, options, function(y)
                    return moe.gated_experts(model, "experts", y, {"w1", "w3", "w2"}, options)
                end)
            end)
        end})
end
