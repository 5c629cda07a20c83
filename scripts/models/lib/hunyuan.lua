-- hunyuan.lua: what Hunyuan's models (Tencent 2025) share, dense or with experts.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

local hunyuan = {}

local NAMES = {q = "query_layernorm", k = "key_layernorm"}

-- A Llama whose heads of q and k have an rms norm each, behind their rotation. mlp(x), in place of the
-- gated MLP, or nil.
function hunyuan.build(model, config, mlp)
    local n = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-5)})
    local bias = model:flag("attention_bias", false)
    decoder.build(model, config, {sizes = n, mlp = mlp, heads = {
        bias = bias, out_bias = bias,
        norm_turned = function(part, y, d) return layers.rms_norm(model, NAMES[part], y, d, n.epsilon) end}})
end

return hunyuan
