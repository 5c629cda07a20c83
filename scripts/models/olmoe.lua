-- olmoe.lua: OLMoE (Muennighoff et al. 2024) from a config.json of "model_type": "olmoe".
-- Parameters are those of OlmoeForCausalLM, the experts of a layer stacked: 6,919,161,856 in
-- OLMoE-1B-7B-0924.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local layers = include "lib/layers"
local moe = include "lib/moe"

function MODEL(model, config)
    local bias, epsilon = model:flag("attention_bias", false), model:number("rms_norm_eps", 1e-5)
    local options = moe.options(model, config, "num_experts", "intermediate_size")
    local function norm_all(part, y, n)
        return layers.rms_norm(model, part .. "_norm", y, n, epsilon)
    end
    decoder.build(model, config, {
        sizes = decoder.sizes(model, config, {epsilon = epsilon}),
        heads = {bias = bias, out_bias = bias, norm_all = norm_all,
                 clip = model:number("clip_qkv", false) or nil},
        mlp = function(x) return moe.mixture(model, "mlp", x, options) end})
end
