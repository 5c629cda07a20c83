-- exaone4.lua: EXAONE 4 (LG AI Research 2025) from a config.json of "model_type": "exaone4": norms
-- come after attention and MLP, and after each head of q and k; of every four layers the last sees
-- all keys, and its heads do not rotate. Parameters are those of Exaone4ForCausalLM:
-- 32,003,216,384 in EXAONE-4.0-32B.

local decoder = include "lib/decoder"
local qwen = include "lib/qwen"

function MODEL(model, config)
    local n = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-5)})
    local window = decoder.windows(model, config, 4)
    local slides = model:size("sliding_window", false)
    decoder.build(model, config, {
        sizes = n, heads = {norm = qwen.heads_with_norms(model, n.epsilon).norm},
        norms = {{after = "post_attention_layernorm"}, {after = "post_feedforward_layernorm"}},
        window = slides and window or nil,
        rotates = function(i) return not slides or window(i) ~= nil end})
end
