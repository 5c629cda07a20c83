-- clip.lua: CLIP (Radford et al. 2021) from a config.json of "model_type": "clip". Parameters are
-- those of CLIPModel: 151,277,313 in clip-vit-base-patch32.

local layers = include "lib/layers"
local attention = include "lib/attention"
local bart = include "lib/bart"
local encoder = include "lib/encoder"

-- The sizes of "text_config" or "vision_config"; what they do not name is that of ViT-B/32.
local function sizes(model, part, default)
    local n = {}
    local function size(name) return model:size(part .. "." .. name, default[name]) end
    n.width, n.heads = size("hidden_size"), size("num_attention_heads")
    n.hidden, n.n_layers = size("intermediate_size"), size("num_hidden_layers")
    n.act = model:text(part .. ".hidden_act", "quick_gelu")
    n.epsilon = model:number(part .. ".layer_norm_eps", 1e-5)
    n.attention_norm, n.mlp_norm, n.mlp = "layer_norm1", "layer_norm2", "mlp"
    if n.width % n.heads ~= 0 then
        model:refuse(part .. ".num_attention_heads",
            "is " .. n.heads .. ", which does not divide " .. n.width)
    end
    return n
end

local function stack(model, x, n, mask)
    for i = 0, n.n_layers - 1 do
        model:module("encoder.layers." .. i, function()
            x = bart.layer(model, x, n, {mask = mask})
        end)
    end
    return x
end

-- What stands where the text ends, which is where its ids are largest: [b, width].
local function text_model(model, n, ids)
    return model:module("text_model", function()
        local positions = attention.positions(model, ids, 1)
        local x = model:module("embeddings", function()
            local x = layers.embedding(model, "token_embedding", ids,
                model:size("text_config.vocab_size", 49408), n.width)
            return model:op("Add", {x, bart.positions(model, "position_embedding", positions,
                model:size("text_config.max_position_embeddings", 77), n.width)})
        end)
        x = stack(model, x, n, attention.causal_mask(model, positions))
        x = layers.layer_norm(model, "final_layer_norm", x, n.width, n.epsilon)
        local last = model:op("ArgMax", {ids}, {axis = 1, keepdims = 1})
        return model:op("GatherND", {x, last}, {batch_dims = 1})
    end)
end

local function vision_model(model, n, pixels, size, patch, channels)
    return model:module("vision_model", function()
        local x = model:module("embeddings", function()
            local x = encoder.patches(model, "patch_embedding", pixels, channels, patch, n.width,
                {bare = true})
            x = encoder.with_class(model, x, model:op("Reshape",
                {model:param("class_embedding", {n.width}), {1, 1, n.width}}), n.width)
            local n_places = (size // patch) ^ 2 // 1 | 0
            local places = model:module("position_embedding", function()
                return model:param("weight", {n_places + 1, n.width})
            end)
            return model:op("Add", {x, places})
        end)
        x = layers.layer_norm(model, "pre_layrnorm", x, n.width, n.epsilon)
        x = stack(model, x, n)
        local class = model:op("Squeeze", {model:op("Slice", {x, {0}, {1}, {1}}), {1}})
        return layers.layer_norm(model, "post_layernorm", class, n.width, n.epsilon)
    end)
end

-- x / |x|
local function normalized(model, x)
    return model:op("Div", {x, model:op("ReduceL2", {x, {-1}}, {keepdims = 1})})
end

function MODEL(model, config)
    local text = sizes(model, "text_config", {hidden_size = 512, num_attention_heads = 8,
        intermediate_size = 2048, num_hidden_layers = 12})
    local vision = sizes(model, "vision_config", {hidden_size = 768, num_attention_heads = 12,
        intermediate_size = 3072, num_hidden_layers = 12})
    local width = model:size("projection_dim", 512)
    local size = model:size("vision_config.image_size", 224)
    local patch = model:size("vision_config.patch_size", 32)
    local channels = model:size("vision_config.num_channels", 3)
    model:dims{texts = 8, seq = model:size("text_config.max_position_embeddings", 77), images = 8}
    local ids = model:input("input_ids", "i64", {"texts", "seq"})
    local pixels = model:input("pixel_values", model.dtype, {"images", channels, size, size})
    local texts = text_model(model, text, ids)
    local images = vision_model(model, vision, pixels, size, patch, channels)
    images = normalized(model,
        layers.linear(model, "visual_projection", images, vision.width, width))
    texts = normalized(model, layers.linear(model, "text_projection", texts, text.width, width))
    local logits = model:op("MatMul", {texts, model:op("Transpose", {images}, {perm = {1, 0}})})
    logits = model:op("Mul", {logits, model:op("Exp", {model:param("logit_scale", {})})})
    model:output(model:op("Transpose", {logits}, {perm = {1, 0}}), "logits_per_image")
    model:output(logits, "logits_per_text")
end
