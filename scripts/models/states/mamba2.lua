-- mamba2.lua: Mamba 2 (Dao and Gu 2024) from a config.json of "model_type": "mamba2". Parameters are
-- those of Mamba2ForCausalLM: 7,285,403,648 in Mamba-Codestral-7B.

local layers = include "lib/layers"
local attention = include "lib/attention"
local mamba = include "lib/mamba"

-- Keys or queries of groups of heads for each head: [b, s, groups state] -> [b, s, heads state].
local function of_heads(model, x, n)
    if n.groups == n.heads then return x end
    x = model:op("Reshape", {x, {0, 0, n.groups, 1, n.state}})
    x = model:op("Expand", {x, {1, 1, 1, n.heads // n.groups, 1}})
    return model:op("Reshape", {x, {0, 0, n.heads * n.state}})
end

-- The rms norm of each group of channels.
local function group_norm(model, x, n)
    return model:module("norm", function()
        local shape = {n.groups, n.inner // n.groups}
        local weight = model:op("Reshape", {model:param("weight", {n.inner}), shape})
        x = model:op("Reshape", {x, {0, 0, shape[1], shape[2]}})
        x = model:op("RMSNormalization", {x, weight}, {axis = -1, epsilon = n.epsilon})
        return model:op("Reshape", {x, {0, 0, n.inner}})
    end)
end

-- x: [b, s, width] -> the same.
local function mixer(model, x, n)
    local shared = n.groups * n.state
    local y = layers.linear(model, "in_proj", x, n.width, 2 * n.inner + 2 * shared + n.heads,
        {bias = n.bias})
    local gate, step
    gate, y, step = model:op("Split", {y, {n.inner, n.inner + 2 * shared, n.heads}},
        {axis = -1}, 3)
    y = mamba.conv1d(model, y, n.inner + 2 * shared)
    local key, query
    y, key, query = model:op("Split", {y, {n.inner, shared, shared}}, {axis = -1}, 3)
    step = model:op("Softplus", {model:op("Add", {step, model:param("dt_bias", {n.heads})})})
    if n.limits then step = model:op("Clip", {step, n.limits[1], n.limits[2]}) end
    local fade = model.dtype == "f32" and step or attention.cast(model, step, "f32")
    fade = model:op("Mul", {fade, mamba.rates(model, {n.heads})})
    local by_head = model:op("Reshape", {y, {0, 0, n.heads, n.d}})
    local value = model:op("Mul", {by_head, model:op("Unsqueeze", {step, {3}})})
    local scanned = mamba.scan(model, of_heads(model, query, n), of_heads(model, key, n),
        model:op("Reshape", {value, {0, 0, n.inner}}), fade, n.heads)
    local skip = model:op("Unsqueeze", {model:param("D", {n.heads}), {1}})
    skip = model:op("Reshape", {model:op("Mul", {by_head, skip}), {0, 0, n.inner}})
    y = model:op("Mul",
        {model:op("Add", {scanned, skip}), layers.activation(model, "silu", gate)})
    y = group_norm(model, y, n)
    return layers.linear(model, "out_proj", y, n.inner, n.width, {bias = n.bias})
end

-- The least and the largest step of the config; nil where neither limits, as in checkpoints that say
-- 0 and Infinity.
local function step_limits(config)
    local given = config.time_step_limit
    local least, most = tonumber(given and given[1]) or 0.0, tonumber(given and given[2]) or math.huge
    if least <= 0 and most == math.huge then return nil end
    return {least + 0.0, math.min(most, 1e30) + 0.0}
end

function MODEL(model, config)
    local width = model:size("hidden_size")
    local n = {
        width = width, inner = model:size("expand", 2) * width, d = model:size("head_dim", 64),
        heads = model:size("num_heads", 128), groups = model:size("n_groups", 8),
        state = model:size("state_size", 128), bias = model:flag("use_bias", false),
        epsilon = model:number("layer_norm_epsilon", 1e-5)}
    n.limits = step_limits(config)
    if n.heads * n.d ~= n.inner then
        model:refuse("num_heads", "times head_dim is " .. n.heads * n.d .. ", not expand times "
            .. "hidden_size, which is " .. n.inner)
    end
    if n.heads % n.groups ~= 0 then
        model:refuse("n_groups", "is " .. n.groups .. ", which does not divide " .. n.heads
            .. " heads")
    end
    mamba.build(model, config, function(x) return mixer(model, x, n) end)
end
