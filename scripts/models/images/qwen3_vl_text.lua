-- qwen3_vl_text.lua: the language model of Qwen3-VL (Qwen Team 2025), a Qwen 3, from a config.json of
-- "model_type": "qwen3_vl": 8,190,735,360 parameters in Qwen3-VL-8B. What deep layers of the encoder of
-- images add to the first layers is left out with it.

local qwen = include "lib/qwen"

PART = ""

function MODEL(model, config) qwen.third(model, config, {root = "model.language_model"}) end
