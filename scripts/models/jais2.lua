-- jais2.lua: Jais 2 (Inception, MBZUAI and Cerebras 2025) from a config.json of "model_type": "jais2": a
-- Llama with layer norms, biases, and an MLP of squared relu. Parameters are those of
-- Jais2ForCausalLM.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local bias = model:flag("attention_bias", true)
    local n = decoder.sizes(model, config, {epsilon = model:number("layer_norm_eps", 1e-5)})
    decoder.build(model, config, {
        sizes = n, norm = layers.layer_norm, heads = {bias = bias, out_bias = bias},
        mlp = function(x)
            return layers.mlp(model, "mlp", x, n.width, n.hidden, {"up_proj", "down_proj"},
                {act = model:text("hidden_act", "relu2"), bias = model:flag("mlp_bias", true)})
        end})
end
