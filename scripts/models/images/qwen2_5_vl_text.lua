-- qwen2_5_vl_text.lua: the language model of Qwen2.5-VL (Bai et al. 2025), a Qwen 2, from a config.json of
-- "model_type": "qwen2_5_vl", or of one that has a "text_config" of that type. Its parameters have the
-- names of Qwen 2's: 7,615,616,512 in Qwen2.5-VL-7B.

local qwen = include "lib/qwen"

PART = ""

function MODEL(model, config) qwen.second(model, config) end
