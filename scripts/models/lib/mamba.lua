-- mamba.lua: state-space models (Gu and Dao 2023, Dao and Gu 2024): what Mamba 1 and 2 share.
--
-- A state of d x e numbers a head is carried along the sequence: ONNX's LinearAttention with the
-- rule "gated". exp(decay) fades it, key and value are added to it, the query reads it.

local layers = include "lib/layers"
local attention = include "lib/attention"

local mamba = {}

-- A kernel of k positions for each channel, then Silu. x: [b, s, channels] -> the same. options, if
-- the config has other fields: kernel, bias.
function mamba.conv1d(model, x, channels, options)
    options = options or {kernel = model:size("conv_kernel", 4),
                          bias = model:flag("use_conv_bias", true)}
    local k = options.kernel
    return model:module("conv1d", function()
        local weight = model:param("weight", {channels, 1, k})
        local bias = options.bias and model:param("bias", {channels})
        local y = model:op("Transpose", {x}, {perm = {0, 2, 1}})
        y = attention.carry(model, "CausalConvWithState", {y, weight, bias},
            {activation = "silu"}, "conv_state", {channels, k - 1})
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
