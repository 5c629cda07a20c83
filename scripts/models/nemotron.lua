-- nemotron.lua: Nemotron-4 and Minitron (NVIDIA 2024) from a config.json of "model_type":
-- "nemotron": norms by 1 + weight, an MLP of squared relu. Parameters are those of
-- NemotronForCausalLM: 15,628,775,424 in Nemotron-4-15B.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local bias, epsilon = model:flag("attention_bias", false), model:number("norm_eps", 1e-5)
    local n = decoder.sizes(model, config, {epsilon = epsilon})
    decoder.build(model, config, {
        sizes = n, heads = {bias = bias, out_bias = bias},
        norm = function(model, name, x, width)
            return layers.layer_norm(model, name, x, width, epsilon, {plus_one = true})
        end,
        rotated = decoder.rotated(model, n.head_dim, "partial_rotary_factor", 0.5),
        mlp = function(x)
            return layers.mlp(model, "mlp", x, n.width, n.hidden, {"up_proj", "down_proj"},
                {act = model:text("hidden_act", "relu2"), bias = model:flag("mlp_bias", false)})
        end})
end
