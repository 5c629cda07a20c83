-- granite.lua: what the Granite models share.

local granite = {}

-- The family for decoder.build: a Llama whose embeddings, scores, residual branches and logits are
-- multiplied by numbers of the config.
function granite.family(model)
    local bias = model:flag("attention_bias", false)
    local embedded = model:number("embedding_multiplier", 1.0)
    return {
        heads = {bias = bias, out_bias = bias, scale = model:number("attention_multiplier", 1.0)},
        mlp_bias = model:flag("mlp_bias", false),
        part_scale = model:number("residual_multiplier", 1.0),
        logit_scale = 1 / model:number("logits_scaling", 1.0),
        embed = function(x) return model:op("Mul", {x, embedded + 0.0}) end}
end

return granite
