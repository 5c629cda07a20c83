-- granite.lua: Granite 3 (IBM 2024) from a config.json of "model_type": "granite". Parameters are
-- those of GraniteForCausalLM: 8,170,848,256 in granite-3.1-8b.

local decoder = include "lib/decoder"
local granite = include "lib/granite"

function MODEL(model, config)
    decoder.build(model, config, granite.family(model))
end
