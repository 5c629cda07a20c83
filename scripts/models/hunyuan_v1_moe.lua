-- hunyuan_v1_moe.lua: Hunyuan-A13B (Tencent 2025) from a config.json of "model_type": "hunyuan_v1_moe": as
-- hunyuan_v1_dense, with an MLP for all tokens and experts beside it. Parameters are those of
-- HunYuanMoEV1ForCausalLM, the experts of a layer stacked.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local hunyuan = include "lib/hunyuan"
local layers = include "lib/layers"
local moe = include "lib/moe"

-- A number, or one for each layer, which are equal.
local function of_layers(model, config, name)
    local list = config[name]
    if type(list) ~= "table" then return model:size(name) end
    for _, n in ipairs(list) do
        if n ~= list[1] then model:refuse(name, "differs between layers, which is not built") end
    end
    return math.tointeger(list[1]) or model:refuse(name, "has no numbers")
end

function MODEL(model, config)
    local hidden = model:size("intermediate_size")
    local options = moe.capacity_options(model, config, {
        width = model:size("hidden_size"), hidden = hidden, experts = of_layers(model, config, "num_experts"),
        top_k = of_layers(model, config, "moe_topk"), act = model:text("hidden_act", "silu"), normed = true,
        router = "gate.wg", choose = moe.softmax_then_choose})
    function options.shared(x)
        return layers.gated_mlp(model, "shared_mlp", x, options.width, hidden, {act = options.act})
    end
    hunyuan.build(model, config, function(x) return moe.mixture(model, "mlp", x, options) end)
end
