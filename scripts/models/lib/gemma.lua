-- gemma.lua: what Gemma 1 and 2 share: norms by 1 + weight, scaled embeddings, tied heads.

local layers = include "lib/layers"

local gemma = {}

-- Adds what they share to a family of lib/decoder.
function gemma.family(model, family)
    local scale = model:size("hidden_size") ^ 0.5
    family.tied = true
    family.act = model:text("hidden_activation", "gelu_pytorch_tanh")
    function family.norm(model, name, x, width, epsilon)
        return layers.rms_norm(model, name, x, width, epsilon, {plus_one = true})
    end
    function family.embed(x) return model:op("Mul", {x, scale}) end
    return family
end

return gemma
