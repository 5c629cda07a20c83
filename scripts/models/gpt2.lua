-- gpt2.lua: GPT-2 (Radford et al. 2019) from a config.json of "model_type": "gpt2". Parameters are
-- those of GPT2LMHeadModel, the head being the embedding: 124,439,808 in the smallest.

local layers = include "lib/layers"
local attention = include "lib/attention"

-- q, k and v are one weight of three parts, each of all heads. i: of the layer.
local function self_attention(model, x, i, width, heads, mask, dropout)
    return model:module("attn", function()
        local qkv = layers.conv1d(model, "c_attn", x, width, 3 * width)
        local q, k, v = model:op("Split", {qkv}, {axis = -1, num_outputs = 3}, 3)
        local d = width // heads
        local scale = model:flag("scale_attn_weights", true) and d ^ -0.5 or 1.0
        if model:flag("scale_attn_by_inverse_layer_idx", false) then scale = scale / (i + 1) end
        local function split(part) return attention.split_heads(model, part, heads, d) end
        local y = attention.attend(model, split(q), split(k), split(v),
            {scale = scale, mask = mask, dropout = dropout, heads = heads, head_dim = d})
        return layers.conv1d(model, "c_proj", attention.merge_heads(model, y, heads, d),
            width, width)
    end)
end

local function mlp(model, x, width, hidden, act)
    return model:module("mlp", function()
        local y = layers.conv1d(model, "c_fc", x, width, hidden)
        y = model:module("act", function() return layers.activation(model, act, y) end)
        return layers.conv1d(model, "c_proj", y, hidden, width)
    end)
end

function MODEL(model, config)
    local width, heads = model:size("n_embd"), model:size("n_head")
    local vocabulary, n_positions = model:size("vocab_size"), model:size("n_positions", 1024)
    local hidden = model:size("n_inner", 4 * width)
    local epsilon = model:number("layer_norm_epsilon", 1e-5)
    local act = model:text("activation_function", "gelu_new")
    local ratio = layers.dropout_ratio(model)
    local of_weights = attention.dropout(model, ratio)
    local function dropped(y) return layers.dropout(model, y, ratio) end
    if width % heads ~= 0 then
        model:refuse("n_head", "is " .. heads .. ", which does not divide " .. width)
    end
    model:dims{batch = 8, seq = n_positions}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local x, table
    model:module("transformer", function()
        x, table = layers.embedding(model, "wte", ids, vocabulary, width)
        local positions = attention.places(model, ids, "n_positions")
        local at = layers.embedding(model, "wpe", positions, n_positions, width)
        x = dropped(model:op("Add", {x, at}))
        local mask = attention.causal_mask(model, positions)
        for i = 0, model:size("n_layer") - 1 do
            model:module("h." .. i, function()
                local y = layers.layer_norm(model, "ln_1", x, width, epsilon)
                y = self_attention(model, y, i, width, heads, mask, of_weights)
                x = model:op("Add", {x, dropped(y)})
                y = layers.layer_norm(model, "ln_2", x, width, epsilon)
                x = model:op("Add", {x, dropped(mlp(model, y, width, hidden, act))})
            end)
        end
        x = layers.layer_norm(model, "ln_f", attention.last_token(model, x), width, epsilon)
    end)
    model:output(layers.linear(model, "lm_head", x, width, vocabulary, {weight = table}), "logits")
end
