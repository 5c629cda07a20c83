-- ministral3.lua: Ministral 3 (Mistral AI 2025) from a config.json of "model_type": "ministral3": a Mistral
-- whose queries grow with the logarithm of their place beyond the length of its training. Parameters are
-- those of Ministral3ForCausalLM.

local attention = include "lib/attention"
local decoder = include "lib/decoder"

function MODEL(model, config)
    local field = config.rope_scaling and "rope_scaling." or "rope_parameters."
    local beta = model:number(field .. "llama_4_scaling_beta", false)
    local scale
    decoder.build(model, config, {
        theta = 1000000.0, window = model:size("sliding_window", false) or nil,
        heads = function() return {query_scale = scale} end,
        embed = function(x, positions)
            if not beta then return x end
            scale = model:module("query_scale", function()
                return attention.temperature(model, positions,
                    model:size(field .. "original_max_position_embeddings", 16384), beta)
            end)
            return x
        end})
end
