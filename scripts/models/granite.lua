-- granite.lua: Granite 3 (IBM 2024) from a config.json of "model_type": "granite": a Llama whose
-- embeddings, scores, residual branches and logits are multiplied by numbers of the config.
-- Parameters are those of GraniteForCausalLM: 8,170,848,256 in granite-3.1-8b.

local decoder = include "lib/decoder"

function MODEL(model, config)
    local bias = model:flag("attention_bias", false)
    local embedded = model:number("embedding_multiplier", 1.0)
    decoder.build(model, config, {
        heads = {bias = bias, out_bias = bias, scale = model:number("attention_multiplier", 1.0)},
        mlp_bias = model:flag("mlp_bias", false),
        part_scale = model:number("residual_multiplier", 1.0),
        logit_scale = 1 / model:number("logits_scaling", 1.0),
        embed = function(x) return model:op("Mul", {x, embedded + 0.0}) end})
end
