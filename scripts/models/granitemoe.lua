-- granitemoe.lua: Granite 3 with experts (IBM 2024) from a config.json of "model_type": "granitemoe".
-- Parameters are those of GraniteMoeForCausalLM, whose checkpoints stack the experts of a layer:
-- 3,298,793,472 in granite-3.0-3b-a800m.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local granite = include "lib/granite"
local layers = include "lib/layers"
local moe = include "lib/moe"

-- The first half of the columns of input_linear is the gate.
local function experts(model, x, options)
    local y = moe.linear(model, "input_linear", x, options.experts, options.width,
        2 * options.hidden, true)
    local gate, up = model:op("Split", {y}, {axis = -1, num_outputs = 2}, 2)
    y = model:op("Mul", {layers.activation(model, options.act, gate), up})
    return moe.linear(model, "output_linear", y, options.experts, options.hidden, options.width, true)
end

function MODEL(model, config)
    local options = moe.capacity_options(model, config, {
        width = model:size("hidden_size"), hidden = model:size("intermediate_size"),
        experts = model:size("num_local_experts"), top_k = model:size("num_experts_per_tok"),
        act = model:text("hidden_act", "silu"), router = "router.layer",
        choose = moe.choose_then_softmax})
    function options.expert(sent) return experts(model, sent, options) end
    local family = granite.family(model)
    function family.mlp(x) return moe.mixture(model, "block_sparse_moe", x, options) end
    decoder.build(model, config, family)
end
