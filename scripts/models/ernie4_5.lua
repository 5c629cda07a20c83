-- ernie4_5.lua: ERNIE 4.5 (Baidu 2025) from a config.json of "model_type": "ernie4_5". Parameters are
-- those of Ernie4_5ForCausalLM: 360,748,032 in ERNIE-4.5-0.3B.

local decoder = include "lib/decoder"
local ernie = include "lib/ernie"

function MODEL(model, config)
    decoder.build(model, config, ernie.family(model, config))
end
