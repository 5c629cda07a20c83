-- mistral.lua: Mistral (Jiang et al. 2023) from a config.json of "model_type": "mistral": a Llama
-- whose queries see the last sliding_window keys. Mistral-7B-v0.1 has 7,241,732,096 parameters.

local decoder = include "lib/decoder"

function MODEL(model, config)
    decoder.build(model, config, {window = model:size("sliding_window", false) or nil})
end
