-- t5.lua: T5 and T5 v1.1 (Raffel et al. 2020) from a config.json of "model_type": "t5".
-- Parameters are those of T5ForConditionalGeneration: 60,506,624 in t5-small.

local layers = include "lib/layers"
local attention = include "lib/attention"

-- The bucket of each distance 0 .. max: one each while they are short, then ever wider ones.
local function buckets_of_distances(n_buckets, max)
    local exact, list = n_buckets // 2, {}
    for distance = 0, max do
        local wide = distance < exact and 0
            or math.log(distance / exact) / math.log(max / exact) * (n_buckets - exact)
        list[#list + 1] = distance < exact and distance
            or math.min(exact + math.floor(wide + 1e-6), n_buckets - 1)
    end
    return list
end

-- What a head adds to a score by how far the key is from the query: [1, h, s, s]. A decoder looks
-- back alone; an encoder has half of the buckets for keys behind the query.
local function position_bias(model, n, positions, both_ways)
    return model:module("relative_attention_bias", function()
        local n_buckets = both_ways and n.buckets // 2 or n.buckets
        local far = model:constant("max_distance", "i64", {}, {n.max_distance})
        local step = model:op("Sub",
            {model:op("Unsqueeze", {positions, {0}}), model:op("Unsqueeze", {positions, {1}})})
        local none = model:constant("none", "i64", {}, {0})
        local distance = both_ways and model:op("Abs", {step})
            or model:op("Neg", {model:op("Min", {step, none})})
        local list = buckets_of_distances(n_buckets, n.max_distance)
        local bucket = model:op("Gather",
            {model:constant("bucket", "i64", {#list}, list), model:op("Min", {distance, far})},
            {axis = 0})
        if both_ways then
            local ahead = model:op("Where", {model:op("Greater", {step, none}),
                model:constant("half", "i64", {}, {n_buckets}), none})
            bucket = model:op("Add", {bucket, ahead})
        end
        local bias = model:op("Gather", {model:param("weight", {n.buckets, n.heads}), bucket},
            {axis = 0})
        return model:op("Unsqueeze",
            {model:op("Transpose", {bias}, {perm = {2, 0, 1}}), {0}})
    end)
end

-- Scores are not scaled: the initial weights are. keys: what is looked at; mask: added to scores.
local function attend(model, x, keys, n, mask)
    local inner = n.heads * n.d
    local function part(name, from)
        local y = layers.linear(model, name, from, n.width, inner)
        return attention.split_heads(model, y, n.heads, n.d)
    end
    local q, k, v = part("q", x), part("k", keys), part("v", keys)
    local y = attention.attend(model, q, k, v, {mask = mask})
    y = attention.merge_heads(model, y, n.heads, n.d)
    return layers.linear(model, "o", y, inner, n.width)
end

local function feed_forward(model, x, n)
    return model:module("DenseReluDense", function()
        if not n.gated then
            local y = layers.linear(model, "wi", x, n.width, n.hidden)
            return layers.linear(model, "wo", layers.activation(model, n.act, y), n.hidden, n.width)
        end
        local gate = layers.linear(model, "wi_0", x, n.width, n.hidden)
        local up = layers.linear(model, "wi_1", x, n.width, n.hidden)
        local y = model:op("Mul", {layers.activation(model, n.act, gate), up})
        return layers.linear(model, "wo", y, n.hidden, n.width)
    end)
end

-- Layer i of a block: normalized, put through build(y), added to x.
local function sublayer(model, i, x, n, build)
    return model:module("layer." .. i, function()
        local y = layers.rms_norm(model, "layer_norm", x, n.width, n.epsilon)
        return model:op("Add", {x, build(y)})
    end)
end

-- The blocks of an encoder; of a decoder where `memory`, what the encoder made, is given.
local function stack(model, name, n, n_blocks, table, ids, memory)
    return model:module(name, function()
        local x = model:module("embed_tokens", function()
            return model:op("Gather", {table, ids}, {axis = 0})
        end)
        local mask
        for i = 0, n_blocks - 1 do
            model:module("block." .. i, function()
                x = sublayer(model, 0, x, n, function(y)
                    return model:module("SelfAttention", function()
                        if i == 0 then
                            local positions = attention.positions(model, ids, 1)
                            mask = position_bias(model, n, positions, not memory)
                            if memory then
                                mask = attention.causal_mask(model, positions, nil, mask)
                            end
                        end
                        return attend(model, y, y, n, mask)
                    end)
                end)
                if memory then
                    x = sublayer(model, 1, x, n, function(y)
                        return model:module("EncDecAttention", function()
                            return attend(model, y, memory, n)
                        end)
                    end)
                end
                x = sublayer(model, memory and 2 or 1, x, n, function(y)
                    return feed_forward(model, y, n)
                end)
            end)
        end
        return layers.rms_norm(model, "final_layer_norm", x, n.width, n.epsilon)
    end)
end

function MODEL(model, config)
    local kind = model:text("feed_forward_proj", "relu")
    local n = {
        width = model:size("d_model"), heads = model:size("num_heads"), d = model:size("d_kv"),
        hidden = model:size("d_ff"), gated = kind:find("^gated%-") ~= nil,
        act = kind == "gated-gelu" and "gelu_new" or kind:gsub("^gated%-", ""),
        buckets = model:size("relative_attention_num_buckets", 32),
        max_distance = model:size("relative_attention_max_distance", 128),
        epsilon = model:number("layer_norm_epsilon", 1e-6)}
    local n_blocks, vocabulary = model:size("num_layers"), model:size("vocab_size")
    model:dims{batch = 8, seq = 512, target_seq = 512}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local targets = model:input("decoder_input_ids", "i64", {"batch", "target_seq"})
    local table = model:module("shared", function()
        return model:param("weight", {vocabulary, n.width})
    end)
    local memory = stack(model, "encoder", n, n_blocks, table, ids)
    local x = stack(model, "decoder", n, model:size("num_decoder_layers", n_blocks), table, targets,
        memory)
    local tied = model:flag("tie_word_embeddings", true)
    if tied then x = model:op("Mul", {x, n.width ^ -0.5}) end
    model:output(layers.linear(model, "lm_head", x, n.width, vocabulary,
        {weight = tied and table or nil}), "logits")
end
