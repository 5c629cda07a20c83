-- hunyuan_v1_dense.lua: Hunyuan's dense models (Tencent 2025) from a config.json of "model_type":
-- "hunyuan_v1_dense": a Llama whose heads of q and k have an rms norm each, behind their rotation.
-- Parameters are those of HunYuanDenseV1ForCausalLM.

local hunyuan = include "lib/hunyuan"

function MODEL(model, config) hunyuan.build(model, config) end
