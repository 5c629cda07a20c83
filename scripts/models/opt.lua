-- opt.lua: OPT (Zhang et al. 2022) from a config.json of "model_type": "opt". Parameters are those of
-- OPTForCausalLM, the head being the embedding: 125,239,296 in opt-125m.

local layers = include "lib/layers"
local attention = include "lib/attention"
local bart = include "lib/bart"

function MODEL(model, config)
    local before = model:flag("do_layer_norm_before", true)
    local n = {
        width = model:size("hidden_size"), heads = model:size("num_attention_heads"),
        hidden = model:size("ffn_dim"), act = model:text("activation_function", "relu"),
        bias = model:flag("enable_bias", true), norm_last = not before, epsilon = 1e-5}
    local vocabulary, length = model:size("vocab_size"), model:size("max_position_embeddings", 2048)
    local narrow = model:size("word_embed_proj_dim", n.width)
    if n.width % n.heads ~= 0 then
        model:refuse("num_attention_heads", "is " .. n.heads .. ", which does not divide "
            .. n.width)
    end
    model:dims{batch = 8, seq = length}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local x, table
    model:module("model.decoder", function()
        x, table = layers.embedding(model, "embed_tokens", ids, vocabulary, narrow)
        local positions = attention.places(model, ids, "max_position_embeddings")
        local mask = attention.causal_mask(model, positions)
        if narrow ~= n.width then x = layers.linear(model, "project_in", x, narrow, n.width) end
        -- The first two rows are for padding.
        x = model:op("Add",
            {x, bart.positions(model, "embed_positions", positions, length + 2, n.width, 2)})
        for i = 0, model:size("num_hidden_layers") - 1 do
            model:module("layers." .. i, function() x = bart.layer(model, x, n, {mask = mask}) end)
        end
        x = attention.last_token(model, x)
        if before and not model:flag("_remove_final_layer_norm", false) then
            x = layers.layer_norm(model, "final_layer_norm", x, n.width)
        end
        if narrow ~= n.width then x = layers.linear(model, "project_out", x, n.width, narrow) end
    end)
    local tied = model:flag("tie_word_embeddings", true)
    model:output(layers.linear(model, "lm_head", x, narrow, vocabulary,
        {weight = tied and table or nil}), "logits")
end
