-- gemma.lua: what Gemma 1, 2 and 3 share: norms by 1 + weight, scaled embeddings, tied heads. Gemma 3
-- is here, as its configs come alone and inside that of a model with images.

local decoder = include "lib/decoder"
local layers = include "lib/layers"
local rope = include "lib/rope"

local gemma = {}

-- Adds what they share to a family of lib/decoder.
function gemma.family(model, family)
    local scale = model:size("hidden_size") ^ 0.5
    family.tied = true
    family.act = model:text("hidden_activation", "gelu_pytorch_tanh")
    function family.norm(model, name, x, width, epsilon)
        return layers.rms_norm(model, name, x, width, epsilon, {plus_one = true})
    end
    function family.embed(x) return model:op("Mul", {x, scale}) end
    return family
end

-- Norms before and behind attention and MLP, as in Gemma 2 and 3.
gemma.norms = {{before = "input_layernorm", after = "post_attention_layernorm"},
               {before = "pre_feedforward_layernorm", after = "post_feedforward_layernorm"}}

-- Gemma 2: every second layer sees a window of keys; scores and logits are capped.
function gemma.second(model, config, norms)
    local bias = model:flag("attention_bias", false)
    decoder.build(model, config, gemma.family(model, {
        norms = norms,
        heads = {bias = bias, out_bias = bias, cap = model:number("attn_logit_softcapping", false),
                 scale = model:number("query_pre_attn_scalar", 256) ^ -0.5},
        window = decoder.windows(model, config, 2),
        cap = model:number("final_logit_softcapping", false)}))
end

-- Gemma 3 (Gemma Team 2025): of every six layers the last sees all keys; heads of q and k are
-- normed. `config` is of "model_type": "gemma3_text"; its sizes are those of 4B where it has none.
function gemma.third(model, config)
    local bias, epsilon = model:flag("attention_bias", false), model:number("rms_norm_eps", 1e-6)
    local n = decoder.sizes(model, config, {
        width = model:size("hidden_size", 2304), hidden = model:size("intermediate_size", 9216),
        n_layers = model:size("num_hidden_layers", 26),
        heads = model:size("num_attention_heads", 8),
        kv_heads = model:size("num_key_value_heads", 4),
        head_dim = model:size("head_dim", 256), vocabulary = model:size("vocab_size", 262208),
        length = model:size("max_position_embeddings", 131072)})
    local pattern = model:size("sliding_window_pattern",
        model:size("_sliding_window_pattern", 6))
    local family = gemma.family(model, {
        sizes = n, norms = gemma.norms,
        rope = rope.of_kinds(model, config, n.head_dim,
            model:number("rope_local_base_freq", 10000.0), model:number("rope_theta", 1000000.0)),
        rope_by_window = true, window = decoder.windows(model, config, pattern),
        cap = model:number("final_logit_softcapping", false)})
    family.heads = {bias = bias, out_bias = bias,
        scale = model:number("query_pre_attn_scalar", 256) ^ -0.5,
        norm = function(part, y, d)
            return family.norm(model, part .. "_norm", y, d, epsilon)
        end}
    decoder.build(model, config, family)
end

return gemma
