-- olmo2.lua: OLMo 2 (OLMo Team 2024) from a config.json of "model_type": "olmo2": norms come after
-- attention and MLP, and after q and k of all heads together. Parameters are those of
-- Olmo2ForCausalLM: 7,298,617,344 in OLMo-2-1124-7B.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local bias, epsilon = model:flag("attention_bias", false), model:number("rms_norm_eps", 1e-5)
    local function norm_all(part, y, n)
        return layers.rms_norm(model, part .. "_norm", y, n, epsilon)
    end
    decoder.build(model, config, {
        sizes = decoder.sizes(model, config, {epsilon = epsilon}),
        norms = {{after = "post_attention_layernorm"}, {after = "post_feedforward_layernorm"}},
        heads = {bias = bias, out_bias = bias, norm_all = norm_all}})
end
