-- cohere2.lua: Command R7B and Command A (Cohere 2024) from a config.json of "model_type":
-- "cohere2": of every four layers the last sees all keys, and its heads do not rotate. Parameters
-- are those of Cohere2ForCausalLM: 8,028,033,024 in c4ai-command-r7b-12-2024.

local decoder = include "lib/decoder"
local cohere = include "lib/cohere"

function MODEL(model, config)
    local window = decoder.windows(model, config, model:size("sliding_window_pattern", 4))
    decoder.build(model, config, cohere.family(model, config,
        {window = window, rotates = function(i) return window(i) ~= nil end}))
end
