-- seed_oss.lua: Seed-OSS (ByteDance 2025) from a config.json of "model_type": "seed_oss": a Llama
-- whose q, k and v have biases. Parameters are those of SeedOssForCausalLM: 36,151,104,512 in
-- Seed-OSS-36B.

local decoder = include "lib/decoder"

function MODEL(model, config)
    decoder.build(model, config, {
        heads = {bias = model:flag("attention_bias", true),
                 out_bias = model:flag("attention_out_bias", false)},
        mlp_bias = model:flag("mlp_bias", false)})
end
