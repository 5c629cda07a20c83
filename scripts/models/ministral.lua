-- ministral.lua: Ministral 8B (Mistral AI 2024) from a config.json of "model_type": "ministral": a Mistral
-- of which some layers see a window of keys and others all. Parameters are those of
-- MinistralForCausalLM: 8,019,808,256 in Ministral-8B-Instruct-2410.

local decoder = include "lib/decoder"

function MODEL(model, config)
    decoder.build(model, config, {window = decoder.windows(model, config)})
end
