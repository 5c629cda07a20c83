-- cohere.lua: Command R and R+ (Cohere 2024) from a config.json of "model_type": "cohere".
-- Parameters are those of CohereForCausalLM: 34,980,831,232 in c4ai-command-r-v01.

local decoder = include "lib/decoder"
local cohere = include "lib/cohere"

function MODEL(model, config)
    decoder.build(model, config, cohere.family(model, config, {theta = 500000.0}))
end
