-- olmo2.lua: OLMo 2 (OLMo Team 2024) from a config.json of "model_type": "olmo2". Parameters are
-- those of Olmo2ForCausalLM: 7,298,617,344 in OLMo-2-1124-7B.

local decoder = include "lib/decoder"
local olmo = include "lib/olmo"

function MODEL(model, config)
    decoder.build(model, config, olmo.second(model, config))
end
