-- decoder.lua: the decoder-only transformer of Llama, Qwen and Mistral, out of their configs.

local layers = include "lib/layers"
local attention = include "lib/attention"

local decoder = {}

-- Llama 3.1 and later stretch the low frequencies of rotary positions, smoothly between the two
-- wavelengths (config.rope_scaling of type "llama3").
local function stretched(model, d, theta, field)
    local function number(name) return model:number(field .. "." .. name) end
    local old, factor = number("original_max_position_embeddings"), number("factor")
    local low, high = number("low_freq_factor"), number("high_freq_factor")
    local frequencies = {}
    for i = 1, d // 2 do
        local f = theta ^ (-2 * (i - 1) / d)
        local share = (old * f / (2 * math.pi) - low) / (high - low)
        share = math.max(0.0, math.min(1.0, share))
        frequencies[i] = f / factor * (1 - share) + f * share
    end
    return frequencies
end

local function rope_tables(model, config, positions, d)
    local field = config.rope_scaling and "rope_scaling" or "rope_parameters"
    local theta = model:number("rope_theta", model:number(field .. ".rope_theta", 10000.0))
    local kind = model:text(field .. ".rope_type", model:text(field .. ".type", "default"))
    local inverse = kind == "llama3" and stretched(model, d, theta, field) or nil
    if kind ~= "llama3" and kind ~= "default" then
        print("rope_scaling of type " .. kind .. " is left out: it changes numbers, no shape")
    end
    return attention.rope_tables(model, positions, d, theta, inverse)
end

-- The sizes of the config that all of them have.
function decoder.sizes(model, config)
    local heads = model:size("num_attention_heads")
    local width = model:size("hidden_size")
    if width % heads ~= 0 and not config.head_dim then
        model:refuse("num_attention_heads", "is " .. heads .. ", which does not divide "
            .. width .. ", the hidden_size")
    end
    return {
        width = width, heads = heads,
        hidden = model:size("intermediate_size"),
        n_layers = model:size("num_hidden_layers"),
        vocabulary = model:size("vocab_size"),
        kv_heads = model:size("num_key_value_heads", heads),
        head_dim = model:size("head_dim", math.max(width // heads, 1)),
        epsilon = model:number("rms_norm_eps", 1e-6),
    }
end

-- options: bias, out_bias, norm as in attention.grouped; window, of keys that are seen, or nil;
-- mlp(x, i), which builds what stands in place of the gated MLP of layer i; mlp_bias; attention(x,
-- rope, mask), in place of grouped attention; rope(positions), in place of its tables.
function decoder.build(model, config, options)
    local n = decoder.sizes(model, config)
    model:dims{batch = 8, seq = math.min(4096, model:size("max_position_embeddings", 4096))}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local x, table
    local function block(i, rope, mask)
        local y = layers.rms_norm(model, "input_layernorm", x, n.width, n.epsilon)
        if options.attention then
            y = options.attention(y, rope, mask)
        else
            y = attention.grouped(model, "self_attn", y, {
                width = n.width, heads = n.heads, kv_heads = n.kv_heads, head_dim = n.head_dim,
                rope = rope, mask = mask, bias = options.bias, out_bias = options.out_bias,
                norm = options.norm and n.epsilon})
        end
        x = model:op("Add", {x, y})
        y = layers.rms_norm(model, "post_attention_layernorm", x, n.width, n.epsilon)
        if options.mlp then
            y = options.mlp(y, i)
        else
            y = layers.gated_mlp(model, "mlp", y, n.width, n.hidden,
                {act = model:text("hidden_act", "silu"), bias = options.mlp_bias})
        end
        x = model:op("Add", {x, y})
    end
    model:module("model", function()
        x, table = layers.embedding(model, "embed_tokens", ids, n.vocabulary, n.width)
        local rope, mask = model:module("rotary_emb", function()
            local positions = attention.positions(model, ids, 1)
            local rope = options.rope and options.rope(positions)
                or rope_tables(model, config, positions, n.head_dim)
            return rope, attention.causal_mask(model, positions, options.window)
        end)
        for i = 0, n.n_layers - 1 do
            model:module("layers." .. i, function() block(i, rope, mask) end)
        end
        x = layers.rms_norm(model, "norm", x, n.width, n.epsilon)
    end)
    local logits = layers.linear(model, "lm_head", x, n.width, n.vocabulary,
        {weight = model:flag("tie_word_embeddings", false) and table or nil})
    model:output(logits, "logits")
end

return decoder
