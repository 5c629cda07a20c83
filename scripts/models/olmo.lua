-- olmo.lua: OLMo 1 (Groeneveld et al. 2024) from a config.json of "model_type": "olmo": norms have
-- no parameters. Those of the model are those of OlmoForCausalLM: 6,888,095,744 in OLMo-7B.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local bias = model:flag("attention_bias", false)
    decoder.build(model, config, {
        norm = function(model, name, x, width)
            return layers.layer_norm(model, name, x, width, 1e-5, {weight = false})
        end,
        heads = {bias = bias, out_bias = bias, clip = model:number("clip_qkv", false) or nil}})
end
