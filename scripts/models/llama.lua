-- llama.lua: Llama 1, 2 and 3 (Touvron et al. 2023, Dubey et al. 2024) from a config.json of
-- "model_type": "llama". Parameters are those of LlamaForCausalLM: 8,030,261,248 in Llama-3-8B.

local decoder = include "lib/decoder"

function MODEL(model, config)
    local bias = model:flag("attention_bias", false)
    decoder.build(model, config,
        {heads = {bias = bias, out_bias = bias}, mlp_bias = model:flag("mlp_bias", false)})
end
