-- kimi_k2.lua: Kimi K2 (Moonshot AI 2025) from a config.json of "model_type": "kimi_k2": a
-- DeepSeek-V3 with more experts and fewer heads: 1,026,408,232,448 parameters.

local deepseek = include "lib/deepseek"

function MODEL(model, config)
    deepseek.build(model, config, "sigmoid")
end
