-- lfm2_moe.lua: LFM2 with experts (Liquid AI 2025) from a config.json of "model_type": "lfm2_moe": as lfm2,
-- with experts behind the first layers, chosen by sigmoids and a bias. Parameters are those of
-- Lfm2MoeForCausalLM, the experts of a layer stacked.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local deepseek = include "lib/deepseek"
local lfm = include "lib/lfm"
local moe = include "lib/moe"

function MODEL(model, config)
    local options = moe.options(model, config, "num_experts")
    options.act, options.names, options.choose = "silu", {"w1", "w3", "w2"}, deepseek.choose_by_sigmoid
    options.groups, options.top_groups, options.bias_outside = 1, 1, true
    options.bias_name = model:flag("use_expert_bias", true) and "expert_bias"
    options.normed = model:flag("norm_topk_prob", true)
    options.scale = model:number("routed_scaling_factor", 1.0)
    local n_dense = model:number("num_dense_layers", 2)
    lfm.build(model, config, model:size("intermediate_size", 7168), function(x, i)
        return i >= n_dense and moe.mixture(model, "feed_forward", x, options) or nil
    end)
end
