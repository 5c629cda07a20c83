-- olmo3.lua: OLMo 3 (OLMo Team 2025) from a config.json of "model_type": "olmo3": an OLMo 2 of which
-- the last of every four layers sees all keys; only there are positions stretched. Parameters are
-- those of Olmo3ForCausalLM: 7,298,011,136 in Olmo-3-7B.

local decoder = include "lib/decoder"
local olmo = include "lib/olmo"
local rope = include "lib/rope"

function MODEL(model, config)
    local family = olmo.second(model, config)
    family.window, family.rope_by_window = decoder.windows(model, config, 4), true
    local parameters = type(config.rope_parameters) == "table" and config.rope_parameters or {}
    local theta = model:number("rope_theta", model:number("rope_parameters.rope_theta", 500000.0))
    function family.rope(positions, window)
        local slides = window > 0
        local kind = slides and "sliding_attention" or "full_attention"
        local field = parameters[kind] and "rope_parameters." .. kind
            or slides and "not stretched" or nil
        return model:module(slides and "local" or "global", function()
            return rope.tables(model, config, positions, family.sizes.head_dim,
                {theta = theta, field = field})
        end)
    end
    decoder.build(model, config, family)
end
