-- qwen3.lua: Qwen 3 (Yang et al. 2025) from a config.json of "model_type": "qwen3": a Llama whose
-- heads of q and k have an rms norm each. Qwen3-8B has 8,190,735,360 parameters.

local decoder = include "lib/decoder"

function MODEL(model, config)
    local window = config.use_sliding_window and config.sliding_window or nil
    decoder.build(model, config, {
        norm = true, bias = config.attention_bias, out_bias = config.attention_bias,
        window = window})
end
