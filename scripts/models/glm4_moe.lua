-- glm4_moe.lua: GLM-4.5 and 4.6 (GLM Team 2025) from a config.json of "model_type": "glm4_moe":
-- grouped heads of which half of the numbers rotate, experts chosen as in DeepSeek-V3. Parameters
-- are those of Glm4MoeForCausalLM, the routed experts of a layer stacked: 106,852,251,264 in
-- GLM-4.5-Air, the biases that choose experts among them.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local deepseek = include "lib/deepseek"
local qwen = include "lib/qwen"

function MODEL(model, config)
    local n = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-5)})
    local normed = model:flag("use_qk_norm", false) and qwen.heads_with_norms(model, n.epsilon).norm
    decoder.build(model, config, {
        sizes = n, heads = {bias = model:flag("attention_bias", false), norm = normed or nil},
        rotated = decoder.rotated(model, n.head_dim, "partial_rotary_factor", 0.5),
        mlp = deepseek.experts_or_mlp(model, config, "sigmoid")})
end
