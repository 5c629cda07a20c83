-- dots1.lua: dots.llm1 (rednote-hilab 2025) from a config.json of "model_type": "dots1": an rms norm
-- of each head of q and k, experts chosen as in DeepSeek-V3. Parameters are those of
-- Dots1ForCausalLM, the routed experts of a layer stacked: 142,774,381,696 in dots.llm1.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local deepseek = include "lib/deepseek"
local qwen = include "lib/qwen"

function MODEL(model, config)
    local n = decoder.sizes(model, config)
    local slides = model:size("sliding_window", false)
    decoder.build(model, config, {
        sizes = n, heads = qwen.heads_with_norms(model),
        window = slides and qwen.late_window(model, config) or nil,
        mlp = deepseek.experts_or_mlp(model, config, "sigmoid")})
end
