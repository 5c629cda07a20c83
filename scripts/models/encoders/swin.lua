-- swin.lua: the Swin transformer (Liu et al. 2021) from a config.json of "model_type": "swin".
-- Parameters are those of SwinForImageClassification: 28,288,354 in Swin-T of 1000 classes.
--
-- Tokens lie on a grid; those of a window see each other. Every second block moves the grid by half
-- a window first, so that windows meet: what leaves at one side comes in at the other, and a mask
-- keeps those apart.
--
-- Shapes: b batch, y and x windows of a grid, w tokens along a window's side, t = w w, h heads, d.

local layers = include "lib/layers"
local encoder = include "lib/encoder"

local function square(n) return n * n end

-- ---- windows ----

-- [b, side, side, c] moved by `shift` places down and right: the last `shift` rows and columns go to
-- the front.
local function roll(model, x, shift)
    return model:op("Roll", {x}, {axes = {1, 2}, shifts = {shift, shift}})
end

-- [b, side, side, c] -> [b, windows, t, c]
local function to_windows(model, x, side, w, c)
    x = model:op("Reshape", {x, {0, side // w, w, side // w, w, c}})
    x = model:op("Transpose", {x}, {perm = {0, 1, 3, 2, 4, 5}})
    return model:op("Reshape", {x, {0, square(side // w), w * w, c}})
end

local function from_windows(model, x, side, w, c)
    x = model:op("Reshape", {x, {0, side // w, side // w, w, w, c}})
    x = model:op("Transpose", {x}, {perm = {0, 1, 3, 2, 4, 5}})
    return model:op("Reshape", {x, {0, side, side, c}})
end

-- Of each token of each window, from which part of the grid it comes once that has moved: i64
-- [windows, t]. A window's tokens of different parts are no neighbours.
local function parts(model, side, w, shift)
    local function part(i)
        return i < side - w and 0 or i < side - shift and 1 or 2
    end
    local list = {}
    for wy = 0, side // w - 1 do
        for wx = 0, side // w - 1 do
            for i = 0, w * w - 1 do
                list[#list + 1] = 3 * part(wy * w + i // w) + part(wx * w + i % w)
            end
        end
    end
    return model:constant("parts", "i64", {#list // (w * w), w * w}, list)
end

-- 0 within a part, a large negative number between two: [windows, 1, t, t].
local function shift_mask(model, side, w, shift)
    local part = parts(model, side, w, shift)
    local same = model:op("Equal",
        {model:op("Unsqueeze", {part, {1, 3}}), model:op("Unsqueeze", {part, {1, 2}})})
    return model:op("Where", {same, 0.0, -100.0})
end

-- What a head adds to the score of two tokens by where they stand to each other: [h, t, t].
local function position_bias(model, w, heads)
    local table = model:param("relative_position_bias_table", {square(2 * w - 1), heads})
    local index = {}
    for i = 0, w * w - 1 do
        for j = 0, w * w - 1 do
            local dy, dx = i // w - j // w, i % w - j % w
            index[#index + 1] = (dy + w - 1) * (2 * w - 1) + dx + w - 1
        end
    end
    local at = model:constant("relative_position_index", "i64", {w * w, w * w}, index)
    return model:op("Transpose", {model:op("Gather", {table, at}, {axis = 0})}, {perm = {2, 0, 1}})
end

-- ---- blocks ----

-- x: [b, windows, t, c] -> the same.
local function attention(model, x, n, mask)
    local c, d = n.width, n.width // n.heads
    local function part(name, perm)
        local y = layers.linear(model, name, x, c, c, {bias = n.bias})
        y = model:op("Reshape", {y, {0, 0, square(n.window), n.heads, d}})
        return model:op("Transpose", {y}, {perm = perm})
    end
    return model:module("self", function()
        local q, k = part("query", {0, 1, 3, 2, 4}), part("key", {0, 1, 3, 4, 2})
        local v = part("value", {0, 1, 3, 2, 4})
        local scores = model:op("Mul", {model:op("MatMul", {q, k}), d ^ -0.5})
        scores = model:op("Add", {scores, position_bias(model, n.window, n.heads)})
        if mask then scores = model:op("Add", {scores, mask}) end
        local y = model:op("MatMul", {model:op("Softmax", {scores}, {axis = -1}), v})
        y = model:op("Transpose", {y}, {perm = {0, 1, 3, 2, 4}})
        return model:op("Reshape", {y, {0, 0, square(n.window), c}})
    end)
end

-- x: [b, side side, c] -> the same.
local function block(model, x, n, shift)
    local side, w, c = n.side, n.window, n.width
    local y = layers.layer_norm(model, "layernorm_before", x, c, n.epsilon)
    y = model:op("Reshape", {y, {0, side, side, c}})
    if shift > 0 then y = roll(model, y, -shift) end
    y = to_windows(model, y, side, w, c)
    y = model:module("attention", function()
        local mask = shift > 0 and shift_mask(model, side, w, shift)
        y = attention(model, y, n, mask)
        return encoder.dense(model, "output", y, c, c)
    end)
    y = from_windows(model, y, side, w, c)
    if shift > 0 then y = roll(model, y, shift) end
    x = model:op("Add", {x, model:op("Reshape", {y, {0, side * side, c}})})
    y = layers.layer_norm(model, "layernorm_after", x, c, n.epsilon)
    y = encoder.dense(model, "output", encoder.intermediate(model, y, n), n.hidden, c)
    return model:op("Add", {x, y})
end

-- Four neighbours become one token of twice the width:
-- [b, side side, c] -> [b, side side / 4, 2 c].
local function merge(model, x, n)
    local half, c = n.side // 2, n.width
    return model:module("downsample", function()
        x = model:op("Reshape", {x, {0, half, 2, half, 2, c}})
        x = model:op("Transpose", {x}, {perm = {0, 1, 3, 4, 2, 5}})
        x = model:op("Reshape", {x, {0, half * half, 4 * c}})
        x = layers.layer_norm(model, "norm", x, 4 * c, n.epsilon)
        return layers.linear(model, "reduction", x, 4 * c, 2 * c)
    end)
end

local function stage(model, x, n, depth)
    for i = 0, depth - 1 do
        -- A window as large as the grid has no neighbours.
        local shift = i % 2 == 1 and n.side > n.window and n.window // 2 or 0
        model:module("blocks." .. i, function() x = block(model, x, n, shift) end)
    end
    return x
end

local function sizes_of_stage(model, n, i)
    local width, side = n.width << i, n.side >> i
    local window = math.min(n.window, side)
    local heads = n.heads[i + 1] or model:refuse("num_heads", "has fewer stages than depths")
    if side % window ~= 0 then
        model:refuse("window_size", "is " .. window .. ", which does not divide the " .. side
            .. " tokens on a side of stage " .. i)
    end
    if width % heads ~= 0 then
        model:refuse("num_heads", "has " .. heads .. ", which does not divide the " .. width
            .. " numbers of stage " .. i)
    end
    return {width = width, side = side, window = window, heads = heads,
            hidden = math.floor(width * model:number("mlp_ratio", 4)),
            act = model:text("hidden_act", "gelu"), bias = model:flag("qkv_bias", true),
            epsilon = model:number("layer_norm_eps", 1e-5)}
end

function MODEL(model, config)
    local side, size, patch = encoder.sides(model, 4)
    local channels, epsilon = model:size("num_channels", 3), model:number("layer_norm_eps", 1e-5)
    local n = {width = model:size("embed_dim"), window = model:size("window_size"),
               side = side, heads = model:sizes("num_heads")}
    local depths = model:sizes("depths")
    local x = model:input("pixel_values", model.dtype, {"batch", channels, size, size})
    model:dims{batch = 8}
    model:module("swin", function()
        x = model:module("embeddings", function()
            local x = encoder.patches(model, "patch_embeddings", x, channels, patch, n.width)
            return layers.layer_norm(model, "norm", x, n.width, epsilon)
        end)
        for i, depth in ipairs(depths) do
            local at = sizes_of_stage(model, n, i - 1)
            model:module("encoder.layers." .. i - 1, function()
                x = stage(model, x, at, depth)
                if i < #depths then x = merge(model, x, at) end
            end)
            n.last = at.width
        end
        x = layers.layer_norm(model, "layernorm", x, n.last, epsilon)
    end)
    x = model:op("ReduceMean", {x, {1}}, {keepdims = 0})
    model:output(layers.linear(model, "classifier", x, n.last, encoder.n_labels(config),
        {bias = true}), "logits")
end
