-- structures.lua: models of two layers whose attention and MLP are wired as in one family. run.sh puts
-- a line in front of it: STRUCTURE = "mqa".

local layers = include "lib/layers"
local attention = include "lib/attention"

local WIDTH, HEADS, VOCABULARY = 32, 4, 96
local SIZE = WIDTH // HEADS

local function slice(model, x, from, to, axis)
    return model:op("Slice", {x, {from}, {to}, {axis}})
end

local function reshape(model, x, ...) return model:op("Reshape", {x, {0, 0, ...}}) end

local function by_heads(model, x, n) return attention.split_heads(model, x, n, SIZE) end

local function attend(model, q, k, v)
    local y = attention.attend(model, q, k, v, {scale = SIZE ^ -0.5})
    return layers.linear(model, "dense", attention.merge_heads(model, y, HEADS, SIZE), WIDTH, WIDTH)
end

-- How q, k and v are made, by structure.
local PROJECT = {}

-- One weight: the heads of q, then one key and one value for all of them.
function PROJECT.mqa(model, x)
    local y = layers.linear(model, "qkv", x, WIDTH, WIDTH + 2 * SIZE)
    local q = slice(model, y, 0, WIDTH, 2)
    local k, v = slice(model, y, WIDTH, WIDTH + SIZE, 2), slice(model, y, WIDTH + SIZE, WIDTH + 2 * SIZE, 2)
    return by_heads(model, q, HEADS), by_heads(model, k, 1), by_heads(model, v, 1)
end

-- One weight, for each head its q, k and v (Bloom, GPT-NeoX).
function PROJECT.by_head(model, x)
    local y = reshape(model, layers.linear(model, "qkv", x, WIDTH, 3 * WIDTH), HEADS, 3, SIZE)
    local parts = {}
    for i = 0, 2 do
        local part = model:op("Gather", {y, model:constant("i" .. i, "i64", {}, {i})}, {axis = 3})
        parts[i + 1] = model:op("Transpose", {part}, {perm = {0, 2, 1, 3}})
    end
    return table.unpack(parts)
end

-- Keys or values of g heads for h heads of queries: [b, g, t, d] -> [b, h, t, d].
local function repeat_heads(model, x, n_heads, n_kv_heads, d)
    x = model:op("Unsqueeze", {x, {2}})
    x = model:op("Expand", {x, {1, 1, n_heads // n_kv_heads, 1, 1}})
    return model:op("Reshape", {x, {0, n_heads, -1, d}})
end

-- One weight, for each group two heads of q, one of k and one of v (Megatron's linear_qkv).
function PROJECT.by_group(model, x)
    local groups = HEADS // 2
    local y = reshape(model, layers.linear(model, "qkv", x, WIDTH, 4 * groups * SIZE), groups, 4 * SIZE)
    local q = reshape(model, slice(model, y, 0, 2 * SIZE, 3), HEADS, SIZE)
    local function few(from)
        local part = slice(model, y, from, from + SIZE, 3)
        return repeat_heads(model,
            model:op("Transpose", {part}, {perm = {0, 2, 1, 3}}), HEADS, groups, SIZE)
    end
    return model:op("Transpose", {q}, {perm = {0, 2, 1, 3}}), few(2 * SIZE), few(3 * SIZE)
end

-- Three weights; q and k are normed over all heads at once (OLMo 2).
function PROJECT.normed(model, x)
    local q = layers.rms_norm(model, "q_norm", layers.linear(model, "q", x, WIDTH, WIDTH), WIDTH, 1e-6)
    local k = layers.rms_norm(model, "k_norm", layers.linear(model, "k", x, WIDTH, WIDTH), WIDTH, 1e-6)
    local v = layers.linear(model, "v", x, WIDTH, WIDTH)
    return by_heads(model, q, HEADS), by_heads(model, k, HEADS), by_heads(model, v, HEADS)
end

function PROJECT.three(model, x)
    local made = {}
    for i, name in ipairs{"a", "b", "c"} do
        made[i] = by_heads(model, layers.linear(model, name, x, WIDTH, WIDTH), HEADS)
    end
    return table.unpack(made)
end

local function mlp(model, x)
    local y = layers.activation(model, "gelu_new", layers.linear(model, "first", x, WIDTH, 4 * WIDTH))
    return layers.linear(model, "second", y, 4 * WIDTH, WIDTH)
end

-- One weight of gate and up.
local function gated(model, x)
    local y = layers.linear(model, "gate_up", x, WIDTH, 4 * WIDTH)
    local gate, up = model:op("Split", {y}, {axis = -1, num_outputs = 2}, 2)
    return layers.linear(model, "second",
        model:op("Mul", {model:op("Sigmoid", {gate}), up}), 2 * WIDTH, WIDTH)
end

local EXPERTS, CHOSEN = 4, 2

-- y times each token's own matrix, and its own bias: [tokens, n].
local function times_own(model, y, weight, bias, ids)
    y = model:op("Unsqueeze", {y, {2}})
    y = model:op("MatMul", {model:op("Gather", {weight, ids}), y})
    y = model:op("Squeeze", {y, {2}})
    return bias and model:op("Add", {y, model:op("Gather", {bias, ids})}) or y
end

-- Experts whose matrices are looked up for each token. pairs: gate and up are every other column, with
-- biases (GPT-OSS); else one behind the other (Mixtral).
local function looked_up(model, x, pairs)
    local scores = layers.linear(model, "router", x, WIDTH, EXPERTS)
    local most, ids = model:op("TopK", {model:op("Softmax", {scores}, {axis = -1}), {CHOSEN}}, {axis = -1}, 2)
    ids = model:op("Reshape", {ids, {-1}})
    local y = model:op("Expand", {model:op("Unsqueeze", {x, {2}}), {1, 1, CHOSEN, 1}})
    y = times_own(model, model:op("Reshape", {y, {-1, WIDTH}}),
        model:param("gate_up", {EXPERTS, 4 * WIDTH, WIDTH}),
        pairs and model:param("gate_up_bias", {EXPERTS, 4 * WIDTH}), ids)
    local gate, up
    if pairs then
        local function every_other(from) return model:op("Slice", {y, {from}, {4 * WIDTH}, {1}, {2}}) end
        gate, up = every_other(0), every_other(1)
    else
        gate, up = model:op("Split", {y}, {axis = 1, num_outputs = 2}, 2)
    end
    y = times_own(model, model:op("Mul", {model:op("Sigmoid", {gate}), up}),
        model:param("down", {EXPERTS, WIDTH, 2 * WIDTH}), pairs and model:param("down_bias", {EXPERTS, WIDTH}), ids)
    y = model:op("Mul", {y, model:op("Reshape", {most, {-1, 1}})})
    y = model:op("ReduceSum", {model:op("Reshape", {y, {-1, CHOSEN, WIDTH}}), {1}}, {keepdims = 0})
    return model:op("Reshape", {y, model:op("Shape", {x})})
end

local function looked_up_pairs(model, x) return looked_up(model, x, true) end

local function norm(model, name, x) return layers.layer_norm(model, name, x, WIDTH, 1e-5) end

-- How a layer adds attention and MLP to x.
local LAYER = {}

function LAYER.serial(model, x, project, feed)
    local y = norm(model, "norm1", x)
    x = model:op("Add", {x, attend(model, project(model, y))})
    return model:op("Add", {x, feed(model, norm(model, "norm2", x))})
end

-- Both in one sum (GPT-J, Falcon, Phi).
function LAYER.parallel(model, x, project, feed)
    local y = norm(model, "norm", x)
    local sum = model:op("Add", {attend(model, project(model, y)), feed(model, y)})
    return model:op("Add", {x, sum})
end

-- The norm after the sum (BERT, ALBERT).
function LAYER.post(model, x, project, feed)
    x = norm(model, "norm1", model:op("Add", {x, attend(model, project(model, x))}))
    return norm(model, "norm2", model:op("Add", {x, feed(model, x)}))
end

-- structure = {layer, project, MLP, width of the embedding}
local STRUCTURES = {
    mqa = {LAYER.parallel, PROJECT.mqa, mlp},
    bloom = {LAYER.serial, PROJECT.by_head, mlp},
    linear_qkv = {LAYER.serial, PROJECT.by_group, gated},
    olmo2 = {LAYER.post, PROJECT.normed, gated},
    gptj = {LAYER.parallel, PROJECT.three, mlp},
    bert = {LAYER.post, PROJECT.three, mlp},
    albert = {LAYER.post, PROJECT.three, mlp, 16},
    mixtral = {LAYER.serial, PROJECT.three, looked_up},
    gpt_oss = {LAYER.serial, PROJECT.three, looked_up_pairs},
}

function MODEL(model)
    local layer, project, feed, narrow = table.unpack(STRUCTURES[STRUCTURE])
    model:dims{batch = 2, seq = 8}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local x = layers.embedding(model, "table", ids, VOCABULARY, narrow or WIDTH)
    if narrow then
        x = layers.layer_norm(model, "norm", x, narrow, 1e-5)
        x = layers.linear(model, "wider", x, narrow, WIDTH)
    end
    for i = 0, 1 do
        x = model:module("layers." .. i, function() return layer(model, x, project, feed) end)
    end
    x = norm(model, "last", x)
    model:output(layers.linear(model, "out", x, WIDTH, VOCABULARY), "logits")
end
