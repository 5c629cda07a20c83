-- falcon.lua: Falcon (Almazrouei et al. 2023) from a config.json of "model_type": "falcon". The
-- config says whether heads share one key, groups share keys or each has its own, whether attention
-- and MLP are added to one x, and whether positions rotate heads or shift scores (ALiBi). Parameters
-- are those of FalconForCausalLM, the head being the embedding: 6,921,720,704 in falcon-7b.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local grouped = model:flag("new_decoder_architecture", false)
    local parallel = grouped or model:flag("parallel_attn", true)
    local alibi, bias = model:flag("alibi", false), model:flag("bias", false)
    local width = model:size("hidden_size")
    local heads = model:size("num_attention_heads", config.n_head and model:size("n_head"))
    local kv_heads = heads
    if grouped then
        kv_heads = model:size("num_kv_heads", config.n_head_kv and model:size("n_head_kv") or heads)
    elseif model:flag("multi_query", true) then
        kv_heads = 1
    end
    if heads % kv_heads ~= 0 then
        model:refuse("num_kv_heads", "is " .. kv_heads .. ", which does not divide " .. heads)
    end
    local n = decoder.sizes(model, config, {
        heads = heads, kv_heads = kv_heads,
        n_layers = model:size("num_hidden_layers", config.n_layer and model:size("n_layer")),
        hidden = model:size("ffn_hidden_size", 4 * width), length =
            model:size("max_position_embeddings", 2048),
        epsilon = model:number("layer_norm_epsilon", 1e-5)})
    local norms = {{before = "input_layernorm"},
                   not parallel and {before = "post_attention_layernorm"} or nil}
    if parallel and model:size("num_ln_in_parallel_attn", grouped and 2 or 1) == 2 then
        norms = {{before = "ln_attn"}, {before = "ln_mlp"}}
    end
    decoder.build(model, config, {
        sizes = n, tied = true, norm = layers.layer_norm, norms = norms, parallel = parallel,
        names = {root = "transformer", embed = "word_embeddings", layers = "h",
                 attention = "self_attention", norm = "ln_f"},
        rotated = alibi and 0 or nil, alibi = alibi and n.head_dim ^ -0.5,
        heads = {names = {"query_key_value", "dense"}, packed = "group", bias = bias,
                 out_bias = bias},
        mlp = function(x)
            return layers.mlp(model, "mlp", x, width, n.hidden, {"dense_h_to_4h", "dense_4h_to_h"},
                {act = model:text("activation", "gelu"), bias = bias})
        end})
end
