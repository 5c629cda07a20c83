-- glm.lua: GLM-4 (GLM Team 2024) from a config.json of "model_type": "glm": a Llama whose q, k and v have
-- biases; neighbours among half of the numbers of a head rotate together. Parameters are those of
-- GlmForCausalLM: 9,399,951,360 in glm-4-9b-chat-hf.

local glm = include "lib/glm"

function MODEL(model, config) glm.build(model, config, 0.5) end
