-- mamba.lua: state-space models (Gu and Dao 2023, Dao and Gu 2024): what Mamba 1, 2 and hybrids share.
--
-- A state of d x e numbers a head is carried along the sequence: ONNX's LinearAttention with the
-- rule "gated". exp(decay) fades it, key and value are added to it, the query reads it.

local layers = include "lib/layers"
local attention = include "lib/attention"

local mamba = {}

-- A kernel of k positions for each channel, then Silu. x: [b, s, channels] -> the same. options, if
-- the config has other fields: kernel, bias; name, "conv1d"; activation, "silu" or "none".
function mamba.conv1d(model, x, channels, options)
    options = options or {kernel = model:size("conv_kernel", 4),
                          bias = model:flag("use_conv_bias", true)}
    local k = options.kernel
    return model:module(options.name or "conv1d", function()
        local weight = model:param("weight", {channels, 1, k})
        local bias = options.bias and model:param("bias", {channels})
        local y = model:op("Transpose", {x}, {perm = {0, 2, 1}})
        y = attention.carry(model, "CausalConvWithState", {y, weight, bias},
            {activation = options.activation or "silu"}, "conv_state", {channels, k - 1})
        return model:op("Transpose", {y}, {perm = {0, 2, 1}})
    end)
end

-- How fast states fade, -exp(A_log), of those sizes; in f32.
function mamba.rates(model, sizes)
    local x = model:param("A_log", sizes)
    if model.dtype ~= "f32" then x = attention.cast(model, x, "f32") end
    return model:op("Neg", {model:op("Exp", {x})})
end

-- q, k: [b, s, heads d], v: [b, s, heads e], decay: [b, s, heads] or [b, s, heads d], in f32. options:
-- beta: [b, s, heads], for the delta rule, with d and e; scale of y, 1.
function mamba.scan(model, q, k, v, decay, heads, options)
    options = options or {}
    if model.dtype ~= "f32" then decay = attention.cast(model, decay, model.dtype) end
    return model:module("scan", function()
        return attention.carry(model, "LinearAttention",
            {q, k, v, false, decay, options.beta},
            {q_num_heads = heads, kv_num_heads = heads,
             update_rule = options.beta and "gated_delta" or "gated",
             scale = options.scale or 1.0},
            "recurrent_state", {heads, options.d, options.e})
    end)
end

-- The least and the largest step of the config; nil where neither limits, as in checkpoints that say
-- 0 and Infinity.
local function step_limits(config)
    local given = config.time_step_limit
    local least, most = tonumber(given and given[1]) or 0.0, tonumber(given and given[2]) or math.huge
    if least <= 0 and most == math.huge then return nil end
    return {least + 0.0, math.min(most, 1e30) + 0.0}
end

-- n: width, inner, d numbers of each of `heads`, groups of heads, state, bias, kernel, conv_bias,
-- epsilon; checks them and adds limits. names: of the fields of the config, for errors.
function mamba.second_sizes(model, config, n, names)
    n.limits = step_limits(config)
    if n.heads * n.d ~= n.inner then
        model:refuse(names.heads, "times " .. names.d .. " is " .. n.heads * n.d .. ", not "
            .. names.expand .. " times hidden_size, which is " .. n.inner)
    end
    if n.heads % n.groups ~= 0 then
        model:refuse(names.groups, "is " .. n.groups .. ", which does not divide " .. n.heads
            .. " heads")
    end
    return n
end

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

-- The mixer of Mamba 2: [b, s, width] -> the same. n: of mamba.second_sizes.
function mamba.second(model, x, n)
    local shared = n.groups * n.state
    local y = layers.linear(model, "in_proj", x, n.width, 2 * n.inner + 2 * shared + n.heads,
        {bias = n.bias})
    local gate, step
    gate, y, step = model:op("Split", {y, {n.inner, n.inner + 2 * shared, n.heads}},
        {axis = -1}, 3)
    y = mamba.conv1d(model, y, n.inner + 2 * shared, {kernel = n.kernel, bias = n.conv_bias})
    local key, query
    y, key, query = model:op("Split", {y, {n.inner, shared, shared}}, {axis = -1}, 3)
    step = model:op("Softplus", {model:op("Add", {step, model:param("dt_bias", {n.heads})})})
    if n.limits then step = model:op("Clip", {step, n.limits[1], n.limits[2]}) end
    local fade = model.dtype == "f32" and step or attention.cast(model, step, "f32")
    fade = model:op("Mul", {fade, mamba.rates(model, {n.heads})})
    local by_head = model:op("Reshape", {y, {0, 0, n.heads, n.d}})
    local value = model:op("Mul", {by_head, model:op("Unsqueeze", {step, {3}})})
    local scanned = mamba.scan(model, of_heads(model, query, n), of_heads(model, key, n),
        model:op("Reshape", {value, {0, 0, n.inner}}), fade, n.heads, {d = n.state, e = n.d})
    attention.carried()
    local skip = model:op("Unsqueeze", {model:param("D", {n.heads}), {1}})
    skip = model:op("Reshape", {model:op("Mul", {by_head, skip}), {0, 0, n.inner}})
    y = model:op("Mul",
        {model:op("Add", {scanned, skip}), layers.activation(model, "silu", gate)})
    y = group_norm(model, y, n)
    return layers.linear(model, "out_proj", y, n.inner, n.width, {bias = n.bias})
end

-- Embedding, layers of a norm and mixer(x), and the head.
function mamba.build(model, config, mixer)
    local width, vocabulary = model:size("hidden_size"), model:size("vocab_size")
    local epsilon = model:number("layer_norm_epsilon", 1e-5)
    model:dims{batch = 8, seq = 4096}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local x, table
    local function norm(name, y) return layers.rms_norm(model, name, y, width, epsilon) end
    model:module("backbone", function()
        x, table = layers.embedding(model, "embeddings", ids, vocabulary, width)
        for i = 0, model:size("num_hidden_layers") - 1 do
            model:module("layers." .. i, function()
                x = layers.residual(model, x, norm, {before = "norm"}, function(y)
                    return model:module("mixer", function() return mixer(y) end)
                end)
            end)
        end
        x = norm("norm_f", x)
    end)
    local tied = model:flag("tie_word_embeddings", true)
    model:output(layers.linear(model, "lm_head", x, width, vocabulary,
        {weight = tied and table or nil}), "logits")
end

return mamba
