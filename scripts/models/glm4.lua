-- glm4.lua: GLM-4 0414 (GLM Team 2025) from a config.json of "model_type": "glm4": norms before and
-- behind attention and MLP; neighbours among half of the numbers of a head rotate together.
-- Parameters are those of Glm4ForCausalLM: 9,400,279,040 in GLM-4-9B-0414.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local n = decoder.sizes(model, config)
    decoder.build(model, config, {
        sizes = n, pairs = true, heads = {bias = model:flag("attention_bias", true)},
        norms = {{before = "input_layernorm", after = "post_self_attn_layernorm"},
                 {before = "post_attention_layernorm", after = "post_mlp_layernorm"}},
        rotated = decoder.rotated(model, n.head_dim, "partial_rotary_factor", 0.5),
        mlp = function(x)
            return layers.packed_gated_mlp(model, "mlp", x, n.width, n.hidden,
                {act = model:text("hidden_act", "silu")})
        end})
end
