-- deepseek_v2.lua: DeepSeek-V2 and V2-Lite (DeepSeek-AI 2024) from a config.json of "model_type":
-- "deepseek_v2". Parameters are those of DeepseekV2ForCausalLM, the routed experts of a layer
-- stacked: 235,741,434,880 in DeepSeek-V2, 15,706,484,224 in V2-Lite.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local deepseek = include "lib/deepseek"

function MODEL(model, config)
    deepseek.build(model, config)
end
