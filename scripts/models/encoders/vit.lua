-- vit.lua: the vision transformer (Dosovitskiy et al. 2021) from a config.json of "model_type":
-- "vit". Parameters are those of ViTForImageClassification: 86,567,656 in ViT-B/16 of 1000 classes.

local layers = include "lib/layers"
local encoder = include "lib/encoder"

-- Patches, a class token before them, and an embedding of each place.
local function embeddings(model, n, pixels)
    return model:module("embeddings", function()
        local x = encoder.patches(model, "patch_embeddings", pixels, n.channels, n.patch, n.width)
        x = encoder.with_class(model, x, model:param("cls_token", {1, 1, n.width}), n.width)
        local n_places = n.side * n.side + 1
        return model:op("Add", {x, model:param("position_embeddings", {1, n_places, n.width})})
    end)
end

local function layer(model, x, n)
    local y = layers.layer_norm(model, "layernorm_before", x, n.width, n.epsilon)
    y = model:module("attention", function()
        local y = encoder.attention(model, "attention", y, n)
        return encoder.dense(model, "output", y, n.width, n.width)
    end)
    x = model:op("Add", {x, y})
    y = layers.layer_norm(model, "layernorm_after", x, n.width, n.epsilon)
    y = encoder.dense(model, "output", encoder.intermediate(model, y, n), n.hidden, n.width)
    return model:op("Add", {x, y})
end

function MODEL(model, config)
    local n = {
        width = model:size("hidden_size"), heads = model:size("num_attention_heads"),
        hidden = model:size("intermediate_size"), act = model:text("hidden_act", "gelu"),
        channels = model:size("num_channels", 3), epsilon = model:number("layer_norm_eps", 1e-12)}
    local size
    n.side, size, n.patch = encoder.sides(model, 16)
    model:dims{batch = 8}
    local pixels = model:input("pixel_values", model.dtype, {"batch", n.channels, size, size})
    local x
    model:module("vit", function()
        x = embeddings(model, n, pixels)
        for i = 0, model:size("num_hidden_layers") - 1 do
            model:module("encoder.layer." .. i, function() x = layer(model, x, n) end)
        end
        x = layers.layer_norm(model, "layernorm", x, n.width, n.epsilon)
    end)
    x = model:op("Squeeze", {model:op("Slice", {x, {0}, {1}, {1}}), {1}})
    model:output(layers.linear(model, "classifier", x, n.width, encoder.n_labels(config),
        {bias = true}), "logits")
end
