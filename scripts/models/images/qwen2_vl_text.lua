-- qwen2_vl_text.lua: the language model of Qwen2-VL (Wang et al. 2024), a Qwen 2, from a config.json of
-- "model_type": "qwen2_vl", or of one that has a "text_config" of that type. Its parameters have the
-- names of Qwen 2's: 7,615,616,512 in Qwen2-VL-7B.

local qwen = include "lib/qwen"

PART = ""

function MODEL(model, config) qwen.second(model, config) end
