-- olmo3.lua: OLMo 3 (OLMo Team 2025) from a config.json of "model_type": "olmo3": an OLMo 2 of which
-- the last of every four layers sees all keys; only there are positions stretched. Parameters are
-- those of Olmo3ForCausalLM: 7,298,011,136 in Olmo-3-7B.

local decoder = include "lib/decoder"
local olmo = include "lib/olmo"
local rope = include "lib/rope"

function MODEL(model, config)
    local family = olmo.second(model, config)
    family.window, family.rope_by_window = decoder.windows(model, config, 4), true
    local theta = model:number("rope_theta", model:number("rope_parameters.rope_theta", 500000.0))
    family.rope = rope.of_kinds(model, config, family.sizes.head_dim, theta, theta)
    decoder.build(model, config, family)
end
