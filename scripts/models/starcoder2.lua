-- starcoder2.lua: StarCoder 2 (Lozhkov et al. 2024) from a config.json of "model_type":
-- "starcoder2". Parameters are those of Starcoder2ForCausalLM: 15,957,889,024 in starcoder2-15b.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local bias = model:flag("use_bias", true)
    local n = decoder.sizes(model, config, {epsilon = model:number("norm_epsilon", 1e-5)})
    decoder.build(model, config, {
        sizes = n, norm = layers.layer_norm, tied = true, heads = {bias = bias, out_bias = bias},
        window = model:size("sliding_window", false) or nil,
        mlp = function(x)
            return layers.mlp(model, "mlp", x, n.width, n.hidden, {"c_fc", "c_proj"},
                {act = model:text("hidden_act", "gelu_pytorch_tanh"), bias = bias})
        end})
end
