-- cohere.lua: what Command R and its successors share: norms without a bias, attention and MLP added
-- to one x, neighbours that rotate together, scaled logits.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

local cohere = {}

-- Adds what they share to a family of lib/decoder.
function cohere.family(model, config, family)
    local bias, epsilon = model:flag("attention_bias", false), model:number("layer_norm_eps", 1e-5)
    local n = decoder.sizes(model, config, {epsilon = epsilon})
    family.sizes, family.parallel, family.pairs, family.tied = n, true, true, true
    family.norms = {{before = "input_layernorm"}}
    family.logit_scale = model:number("logit_scale", 0.0625)
    function family.norm(model, name, x, width)
        return layers.layer_norm(model, name, x, width, epsilon, {bias = false})
    end
    -- Each head has factors of its own.
    local function norm(part, y, d)
        return model:module(part .. "_norm", function()
            y = layers.layer_norm(model, "norm", y, d, epsilon, {weight = false})
            return model:op("Mul",
                {y, model:param("weight", {part == "q" and n.heads or n.kv_heads, d})})
        end)
    end
    family.heads = {bias = bias, out_bias = bias,
                    norm = model:flag("use_qk_norm", false) and norm or nil}
    return family
end

return cohere
