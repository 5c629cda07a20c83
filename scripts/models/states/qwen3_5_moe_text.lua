-- qwen3_5_moe_text.lua: the language model of Qwen 3.5 with experts (Qwen Team 2026) from a config.json
-- of "model_type": "qwen3_5_moe": a Qwen3-Next whose projections are apart. Parameters are those below
-- model.language_model of Qwen3_5MoeForConditionalGeneration, the experts of a layer stacked.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local delta = include "lib/delta"
local qwen = include "lib/qwen"

PART = ""

function MODEL(model, config)
    local options = qwen.expert_options(model, config)
    options.normed, options.shared = true, qwen.shared_expert(model, options)
    delta.build(model, config, {names = {root = "model.language_model"},
        mlp = qwen.experts_or_mlp(model, config, options)})
end
