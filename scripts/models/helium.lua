-- helium.lua: Helium 1 (Kyutai 2025) from a config.json of "model_type": "helium": a Llama in which
-- neighbours among the numbers of a head rotate together. Parameters are those of
-- HeliumForCausalLM.

local decoder = include "lib/decoder"

function MODEL(model, config)
    decoder.build(model, config, {
        sizes = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-8)}),
        pairs = true, theta = 100000.0, heads = {bias = model:flag("attention_bias", false)},
        mlp_bias = model:flag("mlp_bias", false)})
end
