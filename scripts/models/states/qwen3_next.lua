-- qwen3_next.lua: Qwen3-Next (Qwen Team 2025) from a config.json of "model_type": "qwen3_next": three
-- layers of four carry a state by the gated delta rule, the fourth has gated attention; all have experts.
-- Parameters are those of Qwen3NextForCausalLM, the experts of a layer stacked: 79,674,391,296 in
-- Qwen3-Next-80B-A3B. The layer that predicts a second token (MTP) is left out.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local delta = include "lib/delta"
local qwen = include "lib/qwen"

function MODEL(model, config)
    local options = qwen.expert_options(model, config)
    options.normed = model:flag("norm_topk_prob", true)
    options.shared = qwen.shared_expert(model, options)
    delta.build(model, config,
        {packed = true, mlp = qwen.experts_or_mlp(model, config, options)})
end
