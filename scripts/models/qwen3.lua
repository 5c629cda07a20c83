-- qwen3.lua: Qwen 3 (Yang et al. 2025) from a config.json of "model_type": "qwen3": a Llama whose
-- heads of q and k have an rms norm each. Qwen3-8B has 8,190,735,360 parameters.

local qwen = include "lib/qwen"

function MODEL(model, config) qwen.third(model, config) end
