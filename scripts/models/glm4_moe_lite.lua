-- glm4_moe_lite.lua: GLM-4.7 Flash (GLM Team 2026) from a config.json of "model_type": "glm4_moe_lite":
-- the latent attention and experts of DeepSeek-V3. Parameters are those of Glm4MoeLiteForCausalLM, the
-- routed experts of a layer stacked.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local deepseek = include "lib/deepseek"

function MODEL(model, config) deepseek.build(model, config, "sigmoid") end
