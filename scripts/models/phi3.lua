-- phi3.lua: Phi-3, 3.5 and 4 (Abdin et al. 2024) from a config.json of "model_type": "phi3": a Llama
-- whose q, k and v are one linear layer, as are gate and up. Parameters are those of
-- Phi3ForCausalLM: 3,821,079,552 in Phi-3-mini-4k.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local n = decoder.sizes(model, config)
    decoder.build(model, config, {
        sizes = n, window = model:size("sliding_window", false) or nil,
        rotated = decoder.rotated(model, n.head_dim, "partial_rotary_factor", 1),
        heads = {names = {"qkv_proj", "o_proj"}, packed = "row"},
        mlp = function(x)
            return layers.packed_gated_mlp(model, "mlp", x, n.width, n.hidden,
                {act = model:text("hidden_act", "silu")})
        end})
end
