-- arcee.lua: AFM (Arcee AI 2025) from a config.json of "model_type": "arcee": a Llama whose MLP has no
-- gate and squares its Relu. Parameters are those of ArceeForCausalLM.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local bias = model:flag("attention_bias", false)
    local n = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-5)})
    decoder.build(model, config, {
        sizes = n, heads = {bias = bias, out_bias = bias},
        mlp = function(x)
            return layers.mlp(model, "mlp", x, n.width, n.hidden, {"up_proj", "down_proj"},
                {act = model:text("hidden_act", "relu2"), bias = model:flag("mlp_bias", false)})
        end})
end
