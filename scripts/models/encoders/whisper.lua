-- whisper.lua: Whisper (Radford et al. 2022) from a config.json of "model_type": "whisper".
-- Parameters are those of WhisperForConditionalGeneration, the head being the embedding, and the
-- encoder's positions, which are not trained, among them: 37,760,640 in whisper-tiny.

local layers = include "lib/layers"
local attention = include "lib/attention"
local bart = include "lib/bart"

-- A convolution of three frames, then Gelu. x: [b, channels, frames].
local function convolve(model, name, x, n_in, n_out, stride)
    local y = model:module(name, function()
        local weight = model:param("weight", {n_out, n_in, 3})
        return model:op("Conv", {x, weight, model:param("bias", {n_out})},
            {kernel_shape = {3}, strides = {stride}, pads = {1, 1}})
    end)
    return layers.activation(model, "gelu", y)
end

local function encoder(model, n, features)
    return model:module("encoder", function()
        local x = convolve(model, "conv1", features, n.mel_bins, n.width, 1)
        x = convolve(model, "conv2", x, n.width, n.width, 2)
        x = model:op("Transpose", {x}, {perm = {0, 2, 1}})
        local places = model:module("embed_positions", function()
            return model:param("weight", {n.source_length, n.width})
        end)
        x = model:op("Add", {x, places})
        for i = 0, model:size("encoder_layers") - 1 do
            model:module("layers." .. i, function() x = bart.layer(model, x, n.encoder, {}) end)
        end
        return layers.layer_norm(model, "layer_norm", x, n.width)
    end)
end

local function decoder(model, n, ids, memory)
    return model:module("decoder", function()
        local x, table = layers.embedding(model, "embed_tokens", ids, n.vocabulary, n.width)
        if model:flag("scale_embedding", false) then
            x = model:op("Mul", {x, n.width ^ 0.5})
        end
        local positions = attention.positions(model, ids, 1)
        local mask = attention.causal_mask(model, positions)
        x = model:op("Add",
            {x, bart.positions(model, "embed_positions", positions, n.target_length, n.width)})
        for i = 0, model:size("decoder_layers") - 1 do
            model:module("layers." .. i, function()
                x = bart.layer(model, x, n.decoder, {mask = mask, memory = memory})
            end)
        end
        return layers.layer_norm(model, "layer_norm", x, n.width), table
    end)
end

function MODEL(model, config)
    local n = {
        width = model:size("d_model"), mel_bins = model:size("num_mel_bins", 80),
        vocabulary = model:size("vocab_size"),
        source_length = model:size("max_source_positions", 1500),
        target_length = model:size("max_target_positions", 448)}
    for _, part in ipairs{"encoder", "decoder"} do
        local heads = model:size(part .. "_attention_heads")
        if n.width % heads ~= 0 then
            model:refuse(part .. "_attention_heads",
                "is " .. heads .. ", which does not divide " .. n.width)
        end
        n[part] = {
            width = n.width, heads = heads, k_bias = false, epsilon = 1e-5,
            hidden = model:size(part .. "_ffn_dim"),
            act = model:text("activation_function", "gelu")}
    end
    model:dims{batch = 8, target_seq = n.target_length}
    local features = model:input("input_features", model.dtype,
        {"batch", n.mel_bins, 2 * n.source_length})
    local ids = model:input("decoder_input_ids", "i64", {"batch", "target_seq"})
    local x, table
    model:module("model", function()
        x, table = decoder(model, n, ids, encoder(model, n, features))
    end)
    model:output(layers.linear(model, "proj_out", x, n.width, n.vocabulary, {weight = table}),
        "logits")
end
