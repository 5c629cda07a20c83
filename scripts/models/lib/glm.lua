-- glm.lua: GLM-4 (GLM Team 2024) and its 0414 (2025), alone and in a model of images.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

local glm = {}

-- Neighbours among some of the numbers of a head rotate together, a share of them where the config
-- says none. names, norms: as in lib/decoder.
function glm.build(model, config, share, names, norms)
    local n = decoder.sizes(model, config)
    decoder.build(model, config, {
        sizes = n, names = names, pairs = true, heads = {bias = model:flag("attention_bias", true)},
        norms = norms,
        rotated = decoder.rotated(model, n.head_dim, "partial_rotary_factor", share),
        mlp = function(x)
            return layers.packed_gated_mlp(model, "mlp", x, n.width, n.hidden,
                {act = model:text("hidden_act", "silu")})
        end})
end

-- The same with norms before and behind attention and MLP.
function glm.fourth(model, config, share, names)
    glm.build(model, config, share, names,
        {{before = "input_layernorm", after = "post_self_attn_layernorm"},
         {before = "post_attention_layernorm", after = "post_mlp_layernorm"}})
end

return glm
