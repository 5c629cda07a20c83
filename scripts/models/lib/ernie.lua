-- ernie.lua: what the ERNIE 4.5 models share.

local decoder = include "lib/decoder"

local ernie = {}

-- The family for decoder.build: a Llama in which neighbours among the numbers of a head rotate
-- together.
function ernie.family(model, config)
    local bias = model:flag("use_bias", false)
    return {
        sizes = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-5)}),
        tied = true, pairs = true, theta = 500000.0, heads = {bias = bias, out_bias = bias},
        mlp_bias = bias}
end

return ernie
