-- bert.lua: BERT and RoBERTa (Devlin et al. 2019, Liu et al. 2019): every token sees every token, no
-- padding. Parameters are those of the model with its pooler; what checkpoints have beside it ("cls.",
-- "lm_head.") is left out.

local layers = include "lib/layers"
local attention = include "lib/attention"
local encoder = include "lib/encoder"

local bert = {}

local function embeddings(model, n, ids, types)
    return model:module("embeddings", function()
        local x = layers.embedding(model, "word_embeddings", ids, model:size("vocab_size"), n.width)
        local kind = layers.embedding(model, "token_type_embeddings", types,
            model:size("type_vocab_size", 2), n.width)
        local positions = attention.positions(model, ids, 1)
        if n.first > 0 then
            positions = model:op("Add", {positions, model:constant("offset", "i64", {}, {n.first})})
        end
        local place = layers.embedding(model, "position_embeddings", positions,
            model:size("max_position_embeddings"), n.width)
        x = model:op("Add", {model:op("Add", {x, kind}), place})
        return layers.layer_norm(model, "LayerNorm", x, n.width, n.epsilon)
    end)
end

local function layer(model, x, n)
    local y = model:module("attention", function()
        return encoder.attention(model, "self", x, n)
    end)
    -- A linear layer, then what came before it is added, then both are normalized.
    local function output(y, n_in, before)
        return model:module("output", function()
            y = layers.linear(model, "dense", y, n_in, n.width, {bias = true})
            y = model:op("Add", {y, before})
            return layers.layer_norm(model, "LayerNorm", y, n.width, n.epsilon)
        end)
    end
    x = model:module("attention", function() return output(y, n.width, x) end)
    return output(encoder.intermediate(model, x, n), n.hidden, x)
end

local function pooler(model, x, n)
    return model:module("pooler", function()
        local first = model:op("Squeeze", {model:op("Slice", {x, {0}, {1}, {1}}), {1}})
        local y = layers.linear(model, "dense", first, n.width, n.width, {bias = true})
        return layers.activation(model, "tanh", y)
    end)
end

-- options: root, the name of the module; first, the number of rows of position_embeddings before that
-- of the first token.
function bert.build(model, config, options)
    local n = {
        width = model:size("hidden_size"), heads = model:size("num_attention_heads"),
        hidden = model:size("intermediate_size"), act = model:text("hidden_act", "gelu"),
        epsilon = model:number("layer_norm_eps", 1e-12), first = options.first or 0}
    model:dims{batch = 8, seq = math.min(512, model:size("max_position_embeddings") - n.first)}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local types = model:input("token_type_ids", "i64", {"batch", "seq"})
    local x, pooled
    model:module(options.root, function()
        x = embeddings(model, n, ids, types)
        for i = 0, model:size("num_hidden_layers") - 1 do
            model:module("encoder.layer." .. i, function() x = layer(model, x, n) end)
        end
        pooled = pooler(model, x, n)
    end)
    model:output(x, "last_hidden_state")
    model:output(pooled, "pooler_output")
end

return bert
