-- glm4.lua: GLM-4 0414 (GLM Team 2025) from a config.json of "model_type": "glm4": norms before and
-- behind attention and MLP; neighbours among half of the numbers of a head rotate together.
-- Parameters are those of Glm4ForCausalLM: 9,400,279,040 in GLM-4-9B-0414.

local glm = include "lib/glm"

function MODEL(model, config) glm.fourth(model, config, 0.5) end
