-- qwen3_5_text.lua: the language model of Qwen 3.5 (Qwen Team 2026) from a config.json of "model_type":
-- "qwen3_5": three layers of four carry a state by the gated delta rule, the fourth has gated
-- attention. Parameters are those below model.language_model of Qwen3_5ForConditionalGeneration.

local delta = include "lib/delta"

PART = ""

function MODEL(model, config)
    delta.build(model, config, {names = {root = "model.language_model"}})
end
