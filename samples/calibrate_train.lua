-- calibrate_train.lua: what `dimscope calibrate --train` trains for a step to find out how long each
-- operator of a training step takes, forward, backward and in the update, by size.
--
-- Small decoders of several widths and lengths, apart from each other: half a layer each of GPT-2
-- (attention in plain ops, a GELU) and of Llama (attention in one op, rotary positions, a gated
-- MLP). Every rank does all of it. What they end in is one list of scores with a cross entropy.

local layers = include "lib/layers"
local attention = include "lib/attention"

local VOCABULARY = 256
local TOWERS = { -- batch, length, width, heads
    {1, 8, 32, 2}, {2, 16, 64, 4}, {4, 32, 64, 2}, {4, 64, 128, 4}, {8, 64, 256, 8},
    {1, 256, 128, 2}, {2, 32, 256, 4},
}

local function heads_of(model, x, heads, d) return attention.split_heads(model, x, heads, d) end

-- GPT-2's: one product for queries, keys and values; scores in ops of their own.
local function plain_attention(model, x, length, width, heads)
    local d = width // heads
    local qkv = layers.conv1d(model, "c_attn", x, width, 3 * width)
    local q, k, v = model:op("Split", {qkv}, {axis = -1, num_outputs = 3}, 3)
    q, k, v = heads_of(model, q, heads, d), heads_of(model, k, heads, d), heads_of(model, v, heads, d)
    local scores = model:op("MatMul", {q, model:op("Transpose", {k}, {perm = {0, 1, 3, 2}})})
    scores = model:op("Mul", {scores, d ^ -0.5})
    local seen = {}
    for i = 1, length do
        for j = 1, length do seen[#seen + 1] = j <= i and 1 or 0 end
    end
    local mask = model:op("Cast", {model:constant("seen", "i64", {1, 1, length, length}, seen)},
        {to = 9})
    scores = model:op("Where", {mask, scores, -1e30})
    local weights = model:op("Softmax", {scores}, {axis = -1})
    local y = attention.merge_heads(model, model:op("MatMul", {weights, v}), heads, d)
    return layers.conv1d(model, "c_proj", y, width, width)
end

local function fused_attention(model, x, length, width, heads)
    local d, places, frequencies = width // heads, {}, {}
    for i = 1, length do places[i] = i - 1 end
    for i = 1, d // 2 do frequencies[i] = 10000 ^ (-2 * (i - 1) / d) end
    local at = model:constant("places", "i64", {length}, places)
    local tables = attention.rope_tables(model, at, frequencies)
    local function projected(name)
        return heads_of(model, layers.linear(model, name, x, width, width), heads, d)
    end
    local q = attention.rope(model, projected("q_proj"), tables)
    local k = attention.rope(model, projected("k_proj"), tables)
    local y = model:op("Attention", {q, k, projected("v_proj")},
        {scale = d ^ -0.5, is_causal = 1})
    return layers.linear(model, "o_proj", attention.merge_heads(model, y, heads, d), width, width)
end

-- As exports of torch spell it out.
local function spelled_gelu(model, x)
    local inner = model:op("Add", {x, model:op("Mul", {model:op("Pow", {x, 3.0}), 0.044715})})
    local tanh = model:op("Tanh", {model:op("Mul", {inner, 0.7978845608})})
    return model:op("Mul", {model:op("Mul", {x, 0.5}), model:op("Add", {tanh, 1.0})})
end

local function plain_mlp(model, x, width, spelled)
    local y = layers.conv1d(model, "c_fc", x, width, 4 * width)
    y = spelled and spelled_gelu(model, y) or layers.activation(model, "gelu_new", y)
    return layers.conv1d(model, "c_proj", y, 4 * width, width)
end

function MODEL(model)
    local scores = {}
    for i, sizes in ipairs(TOWERS) do
        local batch, length, width, heads = table.unpack(sizes)
        model:module("tower." .. i, function()
            local ids = model:input("ids_" .. i, "i64", {batch, length})
            local x = layers.embedding(model, "embed", ids, VOCABULARY, width)
            local function add(name, y)
                x = model:op("Add", {x, model:module(name, function() return y(x) end)})
            end
            add("attn", function(h)
                return plain_attention(model, layers.layer_norm(model, "norm", h, width), length,
                    width, heads)
            end)
            add("mlp", function(h)
                h = layers.layer_norm(model, "norm", h, width)
                return plain_mlp(model, h, width, i % 2 == 0)
            end)
            add("self_attn", function(h)
                return fused_attention(model, layers.rms_norm(model, "norm", h, width), length,
                    width, heads)
            end)
            add("gated", function(h)
                h = layers.rms_norm(model, "norm", h, width)
                return layers.gated_mlp(model, "mlp", h, width, 2 * width)
            end)
            local logits = layers.linear(model, "head", x, width, VOCABULARY)
            scores[i] = model:op("Reshape", {logits, {batch * length, VOCABULARY}})
        end)
    end
    model:output(model:op("Concat", scores, {axis = 0}), "logits")
end
