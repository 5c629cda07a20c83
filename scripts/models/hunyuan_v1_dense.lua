-- hunyuan_v1_dense.lua: Hunyuan's dense models (Tencent 2025) from a config.json of "model_type":
-- "hunyuan_v1_dense": a Llama whose heads of q and k have an rms norm each, behind their rotation.
-- Parameters are those of HunYuanDenseV1ForCausalLM.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

local NAMES = {q = "query_layernorm", k = "key_layernorm"}

function MODEL(model, config)
    local n = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-5)})
    local bias = model:flag("attention_bias", false)
    decoder.build(model, config, {sizes = n, heads = {
        bias = bias, out_bias = bias,
        norm_turned = function(part, y, d) return layers.rms_norm(model, NAMES[part], y, d, n.epsilon) end}})
end
