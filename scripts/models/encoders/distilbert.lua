-- distilbert.lua: DistilBERT (Sanh et al. 2019) from a config.json of "model_type": "distilbert": every
-- token sees every token, no padding. Parameters are those of DistilBertModel: 66,362,880 in
-- distilbert-base-uncased. What checkpoints have beside it is left out.

local attention = include "lib/attention"
local layers = include "lib/layers"

local function embeddings(model, n, ids)
    return model:module("embeddings", function()
        local x = layers.embedding(model, "word_embeddings", ids, model:size("vocab_size"), n.width)
        local place = layers.embedding(model, "position_embeddings",
            attention.positions(model, ids, 1), n.length, n.width)
        return layers.layer_norm(model, "LayerNorm", model:op("Add", {x, place}), n.width, n.epsilon)
    end)
end

function MODEL(model, config)
    local n = {width = model:size("dim"), heads = model:size("n_heads"), epsilon = 1e-12,
               hidden = model:size("hidden_dim"), length = model:size("max_position_embeddings", 512)}
    if n.width % n.heads ~= 0 then
        model:refuse("n_heads", "is " .. n.heads .. ", which does not divide " .. n.width)
    end
    local act = model:text("activation", "gelu")
    model:dims{batch = 8, seq = n.length}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local function norm(name, y) return layers.layer_norm(model, name, y, n.width, n.epsilon) end
    local x
    model:module("distilbert", function()
        x = embeddings(model, n, ids)
        for i = 0, model:size("n_layers") - 1 do
            model:module("transformer.layer." .. i, function()
                x = layers.residual(model, x, norm, {last = "sa_layer_norm"}, function(y)
                    return attention.grouped(model, "attention", y, {
                        width = n.width, heads = n.heads, bias = true, out_bias = true,
                        names = {"q_lin", "k_lin", "v_lin", "out_lin"}})
                end)
                x = layers.residual(model, x, norm, {last = "output_layer_norm"}, function(y)
                    return layers.mlp(model, "ffn", y, n.width, n.hidden, {"lin1", "lin2"},
                        {act = act, bias = true})
                end)
            end)
        end
    end)
    model:output(x, "last_hidden_state")
end
