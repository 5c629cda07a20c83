-- mamba.lua: Mamba (Gu and Dao 2023) from a config.json of "model_type": "mamba". Parameters are
-- those of MambaForCausalLM, the head being the embedding: 129,135,360 in mamba-130m. Each channel is
-- a head of the scan; kernels for it never write the keys and queries that channels share.

local layers = include "lib/layers"
local attention = include "lib/attention"
local mamba = include "lib/mamba"

-- x: [b, s, width] -> the same. n: width, inner, state, rank, bias.
local function mixer(model, x, n)
    local function shared(y) -- [b, s, state] -> [b, s, inner state]
        y = model:op("Expand", {model:op("Unsqueeze", {y, {2}}), {1, 1, n.inner, 1}})
        return model:op("Reshape", {y, {0, 0, n.inner * n.state}})
    end
    local y = layers.linear(model, "in_proj", x, n.width, 2 * n.inner, {bias = n.bias})
    local gate
    y, gate = model:op("Split", {y}, {axis = -1, num_outputs = 2}, 2)
    y = mamba.conv1d(model, y, n.inner)
    local made = layers.linear(model, "x_proj", y, n.inner, n.rank + 2 * n.state)
    local step, key, query = model:op("Split", {made, {n.rank, n.state, n.state}}, {axis = -1}, 3)
    step = layers.linear(model, "dt_proj", step, n.rank, n.inner, {bias = true})
    step = model:op("Softplus", {step})
    local fade = model.dtype == "f32" and step or attention.cast(model, step, "f32")
    fade = model:op("Mul",
        {model:op("Unsqueeze", {fade, {3}}), mamba.rates(model, {n.inner, n.state})})
    fade = model:op("Reshape", {fade, {0, 0, n.inner * n.state}})
    local scanned = mamba.scan(model, shared(query), shared(key), model:op("Mul", {step, y}), fade,
        n.inner)
    y = model:op("Add", {scanned, model:op("Mul", {y, model:param("D", {n.inner})})})
    y = model:op("Mul", {y, layers.activation(model, "silu", gate)})
    return layers.linear(model, "out_proj", y, n.inner, n.width, {bias = n.bias})
end

function MODEL(model, config)
    local width = model:size("hidden_size")
    local rank = config.time_step_rank
    local n = {
        width = width, state = model:size("state_size", 16),
        inner = model:size("intermediate_size", model:size("expand", 2) * width),
        rank = math.type(rank) == "integer" and model:size("time_step_rank") or (width + 15) // 16,
        bias = model:flag("use_bias", false)}
    mamba.build(model, config, function(x) return mixer(model, x, n) end)
end
