-- glm4v_text.lua: the language model of GLM-4.1V (GLM Team 2025), a GLM-4, from a config.json of
-- "model_type": "glm4v": 9,400,279,040 parameters in GLM-4.1V-9B-Thinking.

local glm = include "lib/glm"

PART = ""

function MODEL(model, config) glm.fourth(model, config, 1.0, {root = "model.language_model"}) end
