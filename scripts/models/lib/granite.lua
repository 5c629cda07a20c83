-- granite.lua: what the Granite models share.

local layers = include "lib/layers"
local moe = include "lib/moe"

local granite = {}

-- The family for decoder.build: a Llama whose embeddings, scores, residual branches and logits are
-- multiplied by numbers of the config.
function granite.family(model)
    local bias = model:flag("attention_bias", false)
    local embedded = model:number("embedding_multiplier", 1.0)
    return {
        heads = {bias = bias, out_bias = bias, scale = model:number("attention_multiplier", 1.0)},
        mlp_bias = model:flag("mlp_bias", false),
        part_scale = model:number("residual_multiplier", 1.0),
        logit_scale = 1 / model:number("logits_scaling", 1.0),
        embed = function(x) return model:op("Mul", {x, embedded + 0.0}) end}
end

-- The first half of the columns of input_linear is the gate.
local function expert(model, x, options)
    local y = moe.linear(model, "input_linear", x, options.experts, options.width,
        2 * options.hidden, true)
    local gate, up = model:op("Split", {y}, {axis = -1, num_outputs = 2}, 2)
    y = model:op("Mul", {layers.activation(model, options.act, gate), up})
    return moe.linear(model, "output_linear", y, options.experts, options.hidden, options.width, true)
end

-- mlp(x): experts, whose checkpoints stack them.
function granite.experts(model, config)
    local options = moe.capacity_options(model, config, {
        width = model:size("hidden_size"), hidden = model:size("intermediate_size"),
        experts = model:size("num_local_experts"), top_k = model:size("num_experts_per_tok"),
        act = model:text("hidden_act", "silu"), router = "router.layer",
        choose = moe.choose_then_softmax})
    function options.expert(sent) return expert(model, sent, options) end
    return function(x) return moe.mixture(model, "block_sparse_moe", x, options) end
end

return granite
