-- gemma3_text.lua: Gemma 3 without images (Gemma Team 2025) from a config.json of "model_type":
-- "gemma3_text": five layers that see a window of keys, then one that sees all, each kind with rotary
-- positions of its own. Parameters are those of Gemma3ForCausalLM: 999,885,952 in gemma-3-1b-pt.

local gemma = include "lib/gemma"

function MODEL(model, config) gemma.third(model, config) end
