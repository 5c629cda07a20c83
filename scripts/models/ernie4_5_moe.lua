-- ernie4_5_moe.lua: ERNIE 4.5 with experts (Baidu 2025) from a config.json of "model_type":
-- "ernie4_5_moe". Parameters are those of Ernie4_5_MoeForCausalLM, the experts of a layer stacked:
-- 21,825,437,888 in ERNIE-4.5-21B-A3B, the biases that choose experts among them.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local ernie = include "lib/ernie"
local layers = include "lib/layers"
local moe = include "lib/moe"

-- Softmax; a bias that evens the load out takes part in the choice, not in the weights.
local function choose(model, x, options)
    local scores = model:op("Softmax", {moe.scores(model, x, options)}, {axis = -1})
    local bias = model:module("moe_statics", function()
        return model:param("e_score_correction_bias", {1, options.experts}, "f32")
    end)
    return moe.choose_by(model, model:op("Add", {scores, bias}), scores, options)
end

-- Whether layer i has experts.
local function is_sparse(model, config)
    local first, every = model:number("moe_layer_start_index", 1), model:size("moe_layer_interval", 1)
    local last = tonumber(config.moe_layer_end_index) or -1
    return function(i)
        return i >= first and (last < 0 or i <= last) and (i + 1) % every == 0
    end
end

function MODEL(model, config)
    local options = moe.capacity_options(model, config, {
        width = model:size("hidden_size"), hidden = model:size("moe_intermediate_size"),
        experts = model:size(config.num_experts and "num_experts" or "moe_num_experts"),
        top_k = model:size(config.num_experts_per_tok and "num_experts_per_tok" or "moe_k"),
        act = model:text("hidden_act", "silu"), normed = true, choose = choose})
    local shared = config.moe_num_shared_experts == 0 and 0 or model:size("moe_num_shared_experts", 2)
    local family, sparse = ernie.family(model, config), is_sparse(model, config)
    local function gated(name, x, hidden)
        return layers.gated_mlp(model, name, x, options.width, hidden,
            {act = options.act, bias = family.mlp_bias})
    end
    options.shared = shared > 0 and function(x)
        return gated("shared_experts", x, shared * options.hidden)
    end
    function family.mlp(x, i)
        if sparse(i) then return moe.mixture(model, "mlp", x, options) end
        return gated("mlp", x, model:size("intermediate_size"))
    end
    decoder.build(model, config, family)
end
