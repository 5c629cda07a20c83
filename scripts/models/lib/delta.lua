-- delta.lua: Qwen3-Next and Qwen 3.5 (Qwen Team 2025): three layers of four carry a state by the gated
-- delta rule (Yang et al. 2024), the fourth has attention whose output is gated.
--
-- The rule is one op, ONNX's LinearAttention with "gated_delta": a state S of d x e numbers a head,
--     S *= exp(decay);  S += k (beta (v - S' k))';  y = S' q.
-- Its flops and traffic are those of the recurrence, token by token; a kernel that multiplies chunks
-- of tokens does more flops and is faster. So its time is a lower bound, as that of any op that
-- reaches the machine's peak.

local attention = include "lib/attention"
local decoder = include "lib/decoder"
local layers = include "lib/layers"
local mamba = include "lib/mamba"

local delta = {}

-- The sizes of the layers that carry a state; r: heads of values for each head of keys.
local function sizes(model, width, epsilon)
    local n = {
        width = width, epsilon = epsilon, kernel = model:size("linear_conv_kernel_dim", 4),
        key_heads = model:size("linear_num_key_heads", 16), d = model:size("linear_key_head_dim", 128),
        heads = model:size("linear_num_value_heads", 32), e = model:size("linear_value_head_dim", 128)}
    if n.heads % n.key_heads ~= 0 then
        model:refuse("linear_num_key_heads", "is " .. n.key_heads .. ", which does not divide "
            .. n.heads .. " heads of values")
    end
    n.r, n.keys, n.values = n.heads // n.key_heads, n.key_heads * n.d, n.heads * n.e
    return n
end

-- x / sqrt(sum(x^2) + 1e-6), of each head of d numbers: [b, s, h d] -> [b, s, h, d]
local function unit(model, x, heads, d)
    x = model:op("Reshape", {x, {0, 0, heads, d}})
    local sum = model:op("ReduceSum", {model:op("Mul", {x, x}), {3}}, {keepdims = 1})
    return model:op("Div", {x, model:op("Sqrt", {model:op("Add", {sum, 1e-6})})})
end

-- Keys or queries for each head of values: [b, s, h, d] -> [b, s, heads d]
local function for_values(model, x, n)
    if n.r > 1 then
        x = model:op("Expand", {model:op("Unsqueeze", {x, {3}}), {1, 1, 1, n.r, 1}})
    end
    return model:op("Reshape", {x, {0, 0, n.heads * n.d}})
end

-- q, k and v beside each other, and z, b, a, as Qwen3-Next's checkpoints have them: in two linear
-- layers, head of keys by head of keys.
local function packed(model, x, n)
    local y = layers.linear(model, "in_proj_qkvz", x, n.width, 2 * n.keys + 2 * n.values)
    local of = n.r * n.e
    local function flat(y, size) return model:op("Reshape", {y, {0, 0, size}}) end
    local q, k, v, z = model:op("Split",
        {model:op("Reshape", {y, {0, 0, n.key_heads, -1}}), {n.d, n.d, of, of}}, {axis = 3}, 4)
    y = layers.linear(model, "in_proj_ba", x, n.width, 2 * n.heads)
    local b, a = model:op("Split", {model:op("Reshape", {y, {0, 0, n.key_heads, -1}})},
        {axis = 3, num_outputs = 2}, 2)
    local qkv = model:op("Concat", {flat(q, n.keys), flat(k, n.keys), flat(v, n.values)}, {axis = 2})
    return qkv, flat(z, n.values), flat(b, n.heads), flat(a, n.heads)
end

-- The same of Qwen 3.5, in four linear layers.
local function apart(model, x, n)
    local function part(name, size)
        return layers.linear(model, "in_proj_" .. name, x, n.width, size)
    end
    return part("qkv", 2 * n.keys + n.values), part("z", n.values), part("b", n.heads),
        part("a", n.heads)
end

-- The rms norm of each head, times Silu of z: [b, s, heads e]
local function gated_norm(model, y, z, n)
    y = model:op("Reshape", {y, {0, 0, n.heads, n.e}})
    y = layers.rms_norm(model, "norm", y, n.e, n.epsilon)
    z = layers.activation(model, "silu", model:op("Reshape", {z, {0, 0, n.heads, n.e}}))
    return model:op("Reshape", {model:op("Mul", {y, z}), {0, 0, n.values}})
end

-- A layer that carries a state: [b, s, width] -> the same. project: packed or apart.
local function mixer(model, x, n, project)
    return model:module("linear_attn", function()
        local qkv, z, b, a = project(model, x, n)
        qkv = mamba.conv1d(model, qkv, 2 * n.keys + n.values, {kernel = n.kernel, bias = false})
        local q, k, v = model:op("Split", {qkv, {n.keys, n.keys, n.values}}, {axis = 2}, 3)
        a = model:op("Softplus", {model:op("Add", {a, model:param("dt_bias", {n.heads})})})
        if model.dtype ~= "f32" then a = attention.cast(model, a, "f32") end
        local decay = model:op("Mul", {a, mamba.rates(model, {n.heads})})
        local y = mamba.scan(model, for_values(model, unit(model, q, n.key_heads, n.d), n),
            for_values(model, unit(model, k, n.key_heads, n.d), n), v, decay, n.heads,
            {beta = model:op("Sigmoid", {b}), scale = n.d ^ -0.5, d = n.d, e = n.e})
        attention.carried()
        return layers.linear(model, "out_proj", gated_norm(model, y, z, n), n.values, n.width)
    end)
end

-- Which layers carry a state: config.layer_types, else all but the last of every four.
local function linear_layers(model, config)
    local kinds, every = config.layer_types, model:size("full_attention_interval", 4)
    return function(i)
        if type(kinds) == "table" then return kinds[i + 1] == "linear_attention" end
        return (i + 1) % every ~= 0
    end
end

-- options: packed, whether the projections are Qwen3-Next's; names: as in lib/decoder; mlp(x, i).
function delta.build(model, config, options)
    local bias = model:flag("attention_bias", false)
    local sizes_of_all = decoder.sizes(model, config, {
        kv_heads = model:size("num_key_value_heads", 2), head_dim = model:size("head_dim", 256)})
    local n = sizes(model, sizes_of_all.width, sizes_of_all.epsilon)
    local is_linear = linear_layers(model, config)
    local function norm(model, name, x, width, epsilon)
        return layers.rms_norm(model, name, x, width, epsilon, {plus_one = true})
    end
    decoder.build(model, config, {
        sizes = sizes_of_all, names = options.names, norm = norm, mlp = options.mlp,
        rotated = decoder.rotated(model, sizes_of_all.head_dim, "partial_rotary_factor", 0.25),
        kind = function(i) return is_linear(i) and "linear" or "full" end,
        heads = {bias = bias, out_bias = bias, gated = true, norm = function(part, y, d)
            return norm(model, part .. "_norm", y, d, n.epsilon)
        end},
        mixer = function(x, i)
            return is_linear(i) and mixer(model, x, n, options.packed and packed or apart) or nil
        end})
end

return delta
