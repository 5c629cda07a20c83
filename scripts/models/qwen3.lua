-- qwen3.lua: Qwen 3 (Yang et al. 2025) from a config.json of "model_type": "qwen3": a Llama whose
-- heads of q and k have an rms norm each. Qwen3-8B has 8,190,735,360 parameters.

local decoder = include "lib/decoder"

function MODEL(model, config)
    local slides = model:flag("use_sliding_window", false)
    local window = slides and model:size("sliding_window") or nil
    local bias = model:flag("attention_bias", false)
    decoder.build(model, config, {norm = true, bias = bias, out_bias = bias, window = window})
end
