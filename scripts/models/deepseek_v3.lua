-- deepseek_v3.lua: DeepSeek-V3 and R1 (DeepSeek-AI 2024) from a config.json of "model_type":
-- "deepseek_v3". Parameters are those of DeepseekV3ForCausalLM, the routed experts of a layer
-- stacked: 671,026,419,200, the biases that choose experts among them (14,848). The module that
-- predicts a second token (num_nextn_predict_layers, MTP) is left out, as it is of the 671B; so are
-- the scales of 8-bit weights (quantization_config): types are those of torch_dtype.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local deepseek = include "lib/deepseek"

function MODEL(model, config)
    deepseek.build(model, config, "sigmoid")
end
