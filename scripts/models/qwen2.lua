-- qwen2.lua: Qwen 2 and 2.5 (Yang et al. 2024) from a config.json of "model_type": "qwen2": a Llama
-- whose q, k and v have biases. Qwen2-7B has 7,615,616,512 parameters.

local qwen = include "lib/qwen"

function MODEL(model, config) qwen.second(model, config) end
