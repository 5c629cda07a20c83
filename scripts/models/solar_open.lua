-- solar_open.lua: Solar Open (Upstage 2025) from a config.json of "model_type": "solar_open": experts in all
-- layers, chosen as in DeepSeek-V3. Parameters are those of SolarOpenForCausalLM, the routed experts of a
-- layer stacked.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local deepseek = include "lib/deepseek"
local moe = include "lib/moe"

function MODEL(model, config)
    local _, options = deepseek.experts_or_mlp(model, config, "sigmoid")
    decoder.build(model, config, {
        sizes = decoder.sizes(model, config, {
            hidden = model:size("moe_intermediate_size"), epsilon = model:number("rms_norm_eps", 1e-5)}),
        theta = 1000000.0, heads = {bias = model:flag("attention_bias", false)},
        mlp = function(x) return moe.mixture(model, "mlp", x, options) end})
end
