-- gemma.lua: Gemma (Gemma Team 2024) from a config.json of "model_type": "gemma". Parameters are
-- those of GemmaForCausalLM, the head being the embedding: 2,506,172,416 in gemma-2b.

local decoder = include "lib/decoder"
local gemma = include "lib/gemma"

function MODEL(model, config)
    local bias = model:flag("attention_bias", false)
    decoder.build(model, config, gemma.family(model, {heads = {bias = bias, out_bias = bias}}))
end
