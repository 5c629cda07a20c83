-- internlm3.lua: InternLM 3 (Shanghai AI Laboratory 2025) from a config.json of "model_type":
-- "internlm3": a Llama. Parameters are those of transformers' model of that name.

local decoder = include "lib/decoder"

function MODEL(model, config)
    local bias = model:flag("attention_bias", model:flag("qkv_bias", false))
    decoder.build(model, config, {
        sizes = decoder.sizes(model, config, {
            head_dim = model:size("head_dim", 128), epsilon = model:number("rms_norm_eps", 1e-5)}),
        heads = {bias = bias, out_bias = bias}, mlp_bias = model:flag("mlp_bias", model:flag("bias", false))})
end
