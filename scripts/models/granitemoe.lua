-- granitemoe.lua: Granite 3 with experts (IBM 2024) from a config.json of "model_type": "granitemoe".
-- Parameters are those of GraniteMoeForCausalLM, whose checkpoints stack the experts of a layer:
-- 3,298,793,472 in granite-3.0-3b-a800m.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local granite = include "lib/granite"

function MODEL(model, config)
    local family = granite.family(model)
    family.mlp = granite.experts(model, config)
    decoder.build(model, config, family)
end
