-- qwen3_moe.lua: Qwen3-30B-A3B and Qwen3-235B-A22B (Yang et al. 2025) from a config.json of
-- "model_type": "qwen3_moe". Parameters are those of Qwen3MoeForCausalLM, the experts of a layer
-- stacked: 30,532,122,624 in Qwen3-30B-A3B.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local qwen = include "lib/qwen"

function MODEL(model, config)
    local options = qwen.expert_options(model, config)
    qwen.third(model, config, nil, qwen.experts_or_mlp(model, config, options))
end
