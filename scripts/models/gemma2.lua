-- gemma2.lua: Gemma 2 (Gemma Team 2024) from a config.json of "model_type": "gemma2": every second
-- layer sees a window of keys, the first of them included; scores and logits are capped. Parameters
-- are those of Gemma2ForCausalLM: 2,614,341,888 in gemma-2-2b.

local gemma = include "lib/gemma"

function MODEL(model, config) gemma.second(model, config, gemma.norms) end
