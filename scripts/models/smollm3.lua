-- smollm3.lua: SmolLM 3 (Hugging Face 2025) from a config.json of "model_type": "smollm3": a Llama
-- in which the heads of every fourth layer do not rotate. Parameters are those of
-- SmolLM3ForCausalLM: 3,075,098,624 in SmolLM3-3B.

local decoder = include "lib/decoder"

function MODEL(model, config)
    local bias, every = model:flag("attention_bias", false), model:size("no_rope_layer_interval", 4)
    local listed = type(config.no_rope_layers) == "table" and config.no_rope_layers
    local width = model:flag("use_sliding_window", false) and model:size("sliding_window") or nil
    local function rotates(i) -- the list has 1 for layers that do
        if listed then return listed[i + 1] ~= 0 end
        return (i + 1) % every ~= 0
    end
    decoder.build(model, config, {
        tied = true, theta = 2000000.0, heads = {bias = bias, out_bias = bias},
        mlp_bias = model:flag("mlp_bias", false), rotates = rotates,
        window = width and function(i) return not rotates(i) and width or nil end})
end
