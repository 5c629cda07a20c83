-- olmo.lua: what OLMo 2 and 3 share.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

local olmo = {}

-- The family for decoder.build: norms come after attention and MLP, and after q and k of all heads
-- together.
function olmo.second(model, config)
    local bias, epsilon = model:flag("attention_bias", false), model:number("rms_norm_eps", 1e-5)
    local function norm_all(part, y, n)
        return layers.rms_norm(model, part .. "_norm", y, n, epsilon)
    end
    return {
        sizes = decoder.sizes(model, config, {epsilon = epsilon}),
        norms = {{after = "post_attention_layernorm"}, {after = "post_feedforward_layernorm"}},
        heads = {bias = bias, out_bias = bias, norm_all = norm_all}}
end

return olmo
