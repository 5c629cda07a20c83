-- llama4_text.lua: Llama 4 (Meta 2025) from a config.json of "model_type": "llama4_text", or of "llama4",
-- which has it as "text_config": heads rotate in three layers of four, which see a chunk of the
-- sequence; the fourth sees all keys. Each token has one expert, whose input is weighted, and a shared
-- one. Parameters are those of Llama4ForCausalLM, whose checkpoints stack the experts of a layer:
-- 107,769,861,120 in Llama-4-Scout-17B-16E, 400,711,848,960 in Llama-4-Maverick-17B-128E.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local attention = include "lib/attention"
local decoder = include "lib/decoder"
local layers = include "lib/layers"
local moe = include "lib/moe"

local function list(value) return type(value) == "table" and #value > 0 and value or nil end

-- Whether heads of layer i rotate: the list has 1 for layers whose heads do.
local function rotating(model, config)
    local listed, every = list(config.no_rope_layers), model:size("no_rope_layer_interval", 4)
    return function(i)
        if listed then return listed[i + 1] ~= 0 end
        return (i + 1) % every ~= 0
    end
end

-- Whether layer i has experts.
local function sparse_layers(model, config)
    local listed, every = list(config.moe_layers), model:size("interleave_moe_layer_step", 1)
    if not listed then return function(i) return (i + 1) % every == 0 end end
    local sparse = {}
    for _, i in ipairs(listed) do sparse[i] = true end
    return function(i) return sparse[i] end
end

-- Sigmoids of the best scores, with which the input of experts is weighted.
local function choose(model, x, options)
    local scores, chosen = model:op("TopK", {moe.scores(model, x, options), {options.top_k}},
        {axis = -1}, 2)
    return moe.weigh(model, model:op("Sigmoid", {scores}), {}), chosen
end

function MODEL(model, config)
    local n = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-5)})
    local bias, tuned = model:flag("attention_bias", false), config.attn_temperature_tuning
    local rotates, sparse = rotating(model, config), sparse_layers(model, config)
    local options = moe.options(model, config, "num_local_experts", "intermediate_size")
    options.router, options.choose, options.weighs_input = "router", choose, true
    function options.expert(sent) return moe.packed_experts(model, "experts", sent, options) end
    function options.shared(x)
        return layers.gated_mlp(model, "shared_expert", x, n.width, n.hidden, {act = options.act})
    end
    local one -- a factor of each head, which have no weights
    local function norm(part, y, d)
        one = one or model:op("Expand", {1.0, {d}})
        return model:op("RMSNormalization", {y, one}, {axis = -1, epsilon = n.epsilon})
    end
    local normed, scale = model:flag("use_qk_norm", true) and norm or nil, nil
    decoder.build(model, config, {
        sizes = n, pairs = true, theta = 500000.0, rotates = rotates,
        chunk = function(i) return rotates(i) and model:size("attention_chunk_size", 8192) or nil end,
        kind = function(i)
            return (rotates(i) and "chunk" or "global") .. (sparse(i) and " experts" or "")
        end,
        heads = function(i)
            return {bias = bias, out_bias = bias, norm = rotates(i) and normed or nil,
                    query_scale = not rotates(i) and scale or nil}
        end,
        embed = function(x, positions)
            scale = tuned ~= false and tuned ~= 0 and model:module("temperature",
                function()
                    return attention.temperature(model, positions, model:number("floor_scale", 8192),
                        model:number("attn_scale", 0.1), true)
                end)
            return x
        end,
        mlp = function(x, i)
            if sparse(i) then return moe.mixture(model, "feed_forward", x, options) end
            return layers.gated_mlp(model, "feed_forward", x, n.width,
                model:size("intermediate_size_mlp", 16384), {act = options.act})
        end})
end
