-- qwen3_vl_moe_text.lua: the language model of Qwen3-VL with experts (Qwen Team 2025) from a config.json
-- of "model_type": "qwen3_vl_moe": a Qwen 3 whose checkpoints stack the experts of a layer:
-- 30,532,122,624 parameters in Qwen3-VL-30B-A3B.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local moe = include "lib/moe"
local qwen = include "lib/qwen"

PART = ""

function MODEL(model, config)
    local options = qwen.expert_options(model, config)
    options.normed = true
    function options.expert(sent)
        return moe.packed_experts(model, "experts", sent, options)
    end
    qwen.third(model, config, {root = "model.language_model"},
        qwen.experts_or_mlp(model, config, options))
end
