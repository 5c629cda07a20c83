-- gpt_oss.lua: gpt-oss (OpenAI 2025) from a config.json of "model_type": "gpt_oss": every second
-- layer sees a window of keys, each head may attend to nothing (a sink), all MLPs are experts.
-- Parameters are those of GptOssForCausalLM: 20,914,757,184 in gpt-oss-20b. The 4-bit blocks and
-- scales of its checkpoint (quantization_config) are left out: types are those of torch_dtype.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local moe = include "lib/moe"

-- x W + b of each expert, weights [e, n_in, n_out]. x: [b, e, c, n_in].
local function linear(model, name, x, n_experts, n_in, n_out)
    local weight = model:param(name, {n_experts, n_in, n_out})
    local bias = model:op("Unsqueeze", {model:param(name .. "_bias", {n_experts, n_out}), {1}})
    return model:op("Add",
        {model:op("Einsum", {x, weight}, {equation = "beck,ekn->becn"}), bias})
end

-- Columns of gate and up alternate; gate * sigmoid(alpha gate) * (up + 1), both within a limit.
local function experts(model, x, options)
    local e, width, hidden, limit = options.experts, options.width, options.hidden, options.limit
    return model:module("experts", function()
        local y = linear(model, "gate_up_proj", x, e, width, 2 * hidden)
        y = model:op("Reshape", {y, {0, 0, 0, hidden, 2}})
        local gate, up = model:op("Split", {y}, {axis = 4, num_outputs = 2}, 2)
        gate = model:op("Clip", {model:op("Squeeze", {gate, {4}}), false, limit})
        up = model:op("Clip", {model:op("Squeeze", {up, {4}}), -limit, limit})
        gate = model:op("Swish", {gate}, {alpha = 1.702})
        y = model:op("Mul", {model:op("Add", {up, 1.0}), gate})
        return linear(model, "down_proj", y, e, hidden, width)
    end)
end

function MODEL(model, config)
    local options = moe.capacity_options(model, config, {
        width = model:size("hidden_size"), hidden = model:size("intermediate_size"),
        experts = model:size("num_local_experts"),
        top_k = model:size("num_experts_per_tok", config.experts_per_token),
        limit = model:number("swiglu_limit", 7) + 0.0,
        router = "router", router_bias = true, choose = moe.choose_then_softmax})
    function options.expert(sent) return experts(model, sent, options) end
    local bias = model:flag("attention_bias", true)
    decoder.build(model, config, {
        heads = {bias = bias, out_bias = bias, sinks = true},
        window = decoder.windows(model, config, 2),
        mlp = function(x) return moe.mixture(model, "mlp", x, options) end})
end
