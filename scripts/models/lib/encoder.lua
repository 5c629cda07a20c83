-- encoder.lua: what BERT, ViT and their kin share: attention where every token sees every token.

local layers = include "lib/layers"
local attention = include "lib/attention"

local encoder = {}

-- query, key and value with biases, and heads of them. x: [b, s, width] -> [b, s, width]. n: width,
-- heads.
function encoder.attention(model, name, x, n)
    local d = n.width // n.heads
    return model:module(name, function()
        local function part(name)
            local y = layers.linear(model, name, x, n.width, n.width, {bias = true})
            return attention.split_heads(model, y, n.heads, d)
        end
        local q, k, v = part("query"), part("key"), part("value")
        return attention.merge_heads(model, attention.attend(model, q, k, v, {scale = d ^ -0.5}),
            n.heads, d)
    end)
end

-- A linear layer named "dense" in a module of that name.
function encoder.dense(model, name, x, n_in, n_out)
    return model:module(name, function()
        return layers.linear(model, "dense", x, n_in, n_out, {bias = true})
    end)
end

-- width -> hidden, activated. n: width, hidden, act.
function encoder.intermediate(model, x, n)
    local y = encoder.dense(model, "intermediate", x, n.width, n.hidden)
    return model:module("intermediate", function()
        return model:module("intermediate_act_fn", function()
            return layers.activation(model, n.act, y)
        end)
    end)
end

-- Patches along a side of the image that the config tells of, and the sizes of both.
function encoder.sides(model, default)
    local size, patch = model:size("image_size", 224), model:size("patch_size", default)
    if patch > size then
        model:refuse("patch_size", "is " .. patch .. ", and the image " .. size .. " on a side")
    end
    return size // patch, size, patch
end

-- Patches of an image side by side, as a convolution whose windows do not overlap. options.bare: its
-- weight is of that module itself, without a bias (CLIP), not of a module "projection" in it.
-- pixels: [b, channels, size, size] -> [b, patches, width]
function encoder.patches(model, name, pixels, channels, patch, width, options)
    local bare = options and options.bare
    local function convolve()
        local inputs = {pixels, model:param("weight", {width, channels, patch, patch})}
        if not bare then inputs[3] = model:param("bias", {width}) end
        return model:op("Conv", inputs, {kernel_shape = {patch, patch}, strides = {patch, patch}})
    end
    local y = model:module(bare and name or name .. ".projection", convolve)
    y = model:op("Reshape", {y, {0, 0, -1}})
    return model:op("Transpose", {y}, {perm = {0, 2, 1}})
end

-- A class token before the patches. class: [1, 1, width]; x: [b, patches, width].
function encoder.with_class(model, x, class, width)
    local batch = model:op("Slice", {model:op("Shape", {x}), {0}, {1}})
    class = model:op("Expand", {class, model:op("Concat", {batch, {1, width}}, {axis = 0})})
    return model:op("Concat", {class, x}, {axis = 1})
end

-- How many classes a config names: num_labels, else its id2label; 1000 where it has neither.
function encoder.n_labels(config)
    local n = 0
    for _ in pairs(config.id2label or {}) do n = n + 1 end
    return config.num_labels or (n > 0 and n or 1000)
end

return encoder
