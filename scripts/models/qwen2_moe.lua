-- qwen2_moe.lua: Qwen1.5-MoE and Qwen2-57B-A14B (Yang et al. 2024) from a config.json of
-- "model_type": "qwen2_moe". Parameters are those of Qwen2MoeForCausalLM, the experts of a layer
-- stacked: 14,315,784,192 in Qwen1.5-MoE-A2.7B.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local moe = include "lib/moe"
local qwen = include "lib/qwen"

function MODEL(model, config)
    local options = moe.options(model, config, "num_experts")
    options.shared = qwen.shared_expert(model, options)
    decoder.build(model, config, {heads = {bias = model:flag("qkv_bias", true)},
        window = qwen.window(model, config), mlp = qwen.experts_or_mlp(model, config, options)})
end
