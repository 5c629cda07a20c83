-- gemma2.lua: Gemma 2 (Gemma Team 2024) from a config.json of "model_type": "gemma2": every second
-- layer sees a window of keys, the first of them included; scores and logits are capped. Parameters
-- are those of Gemma2ForCausalLM: 2,614,341,888 in gemma-2-2b.

local decoder = include "lib/decoder"
local gemma = include "lib/gemma"

function MODEL(model, config)
    local bias = model:flag("attention_bias", false)
    decoder.build(model, config, gemma.family(model, {
        norms = gemma.norms,
        heads = {bias = bias, out_bias = bias, cap = model:number("attn_logit_softcapping", false),
                 scale = model:number("query_pre_attn_scalar", 256) ^ -0.5},
        window = decoder.windows(model, config, 2),
        cap = model:number("final_logit_softcapping", false)}))
end
