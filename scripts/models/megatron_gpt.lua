-- megatron_gpt.lua: the GPT of Megatron-LM (Shoeybi et al. 2019), from a config.json of
-- "model_type": "megatron_gpt" whose other fields are Megatron-LM's arguments with underscores:
--     {"model_type": "megatron_gpt", "num_layers": 24, "hidden_size": 2304,
--      "num_attention_heads": 24, "max_position_embeddings": 2048, "vocab_size": 51200}
-- Parameters and dropout are those of megatron-core's GPTModel with the layers of Transformer
-- Engine (transformer_impl "local" has norms of their own). Defaults are Megatron's: learned
-- positions, LayerNorm, biases, Gelu, dropout 0.1, the head being the embedding, whose rows are
-- padded to a multiple of make_vocab_size_divisible_by * tensor_model_parallel_size.

local decoder = include "lib/decoder"
local layers = include "lib/layers"
local attention = include "lib/attention"

local function padded_vocabulary(model)
    local multiple = model:size("make_vocab_size_divisible_by", 128)
        * model:size("tensor_model_parallel_size", 1)
    local n = (model:size("vocab_size") + multiple - 1) // multiple * multiple
    return model:size("padded_vocab_size", n)
end

local function read(model)
    local width, heads = model:size("hidden_size"), model:size("num_attention_heads")
    local swiglu, grouped = model:flag("swiglu", false), model:flag("group_query_attention", false)
    local bias = model:flag("add_bias_linear", true)
    return {
        width = width, heads = heads, swiglu = swiglu, bias = bias,
        rms = model:text("normalization", "LayerNorm") == "RMSNorm",
        epsilon = model:number("norm_epsilon", 1e-5), n_layers = model:size("num_layers"),
        hidden = model:size("ffn_hidden_size", swiglu and width * 8 // 3 // 64 * 64 or 4 * width),
        kv_heads = grouped and model:size("num_query_groups") or heads,
        head_dim = model:size("kv_channels", math.max(width // heads, 1)),
        qkv_bias = bias or model:flag("add_qkv_bias", false),
        length = model:size("max_position_embeddings"), vocabulary = padded_vocabulary(model),
        positions = model:text("position_embedding_type", "learned_absolute"),
        dropout = layers.dropout_ratio(model, model:number("hidden_dropout", 0.1)),
        attention_dropout = layers.dropout_ratio(model, model:number("attention_dropout", 0.1)),
        own_norms = model:text("transformer_impl", "transformer_engine") == "local"}
end

-- A norm; of Transformer Engine those before linear layers are parameters of the linear layer.
local function norm(model, n, name, x)
    local epsilon, fused = {axis = -1, epsilon = n.epsilon}, name:match("linear_")
    local function build()
        local prefix = fused and "layer_norm_" or ""
        local inputs = {x, model:param(prefix .. "weight", {n.width})}
        if n.rms then return model:op("RMSNormalization", inputs, epsilon) end
        inputs[3] = model:param(prefix .. "bias", {n.width})
        return model:op("LayerNormalization", inputs, epsilon)
    end
    return model:module(name, build)
end

local function mlp(model, n, x)
    local names = {"linear_fc1", "linear_fc2"}
    if n.swiglu then
        return layers.packed_gated_mlp(model, "mlp", x, n.width, n.hidden,
            {names = names, bias = n.bias})
    end
    return layers.mlp(model, "mlp", x, n.width, n.hidden, names, {act = "gelu", bias = n.bias})
end

function MODEL(model, config)
    local n = read(model)
    if n.kv_heads > n.heads or n.heads % n.kv_heads ~= 0 then
        model:refuse("num_query_groups", "is " .. n.kv_heads .. ", which does not divide " .. n.heads)
    end
    local norms = {{before = n.own_norms and "input_layernorm" or "self_attention.linear_qkv"},
                   {before = n.own_norms and "pre_mlp_layernorm" or "mlp.linear_fc1"}}
    local rotated = 0
    if n.positions == "rope" then
        rotated = decoder.rotated(model, n.head_dim, "rotary_percent", 1.0)
    elseif n.positions ~= "learned_absolute" and n.positions ~= "none" then
        model:refuse("position_embedding_type",
            "is '" .. n.positions .. "', which has no builder",
            "known: learned_absolute, rope, none")
    end
    decoder.build(model, config, {
        sizes = n, rotated = rotated, theta = model:number("rotary_base", 10000.0), norms = norms,
        norm = function(_, name, x) return norm(model, n, name, x) end,
        names = {root = "decoder", embed = "embedding.word_embeddings", outer_embed = true,
                 attention = "self_attention", norm = "final_layernorm", head = "output_layer"},
        tied = not model:flag("untie_embeddings_and_output_weights", false),
        heads = {names = {"linear_qkv", "linear_proj"}, packed = "group", bias = n.qkv_bias,
                 out_bias = n.bias},
        dropout = n.dropout, weight_dropout = n.attention_dropout,
        embed = function(x, positions)
            if n.positions == "learned_absolute" then
                local at = layers.embedding(model, "embedding.position_embeddings", positions,
                    n.length, n.width)
                x = model:op("Add", {x, at})
            end
            return x
        end,
        mlp = function(x) return mlp(model, n, x) end})
end
