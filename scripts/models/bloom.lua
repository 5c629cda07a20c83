-- bloom.lua: BLOOM (BigScience 2022) from a config.json of "model_type": "bloom": positions are
-- ALiBi's, embeddings have a norm. Parameters are those of BloomForCausalLM: 176,247,271,424 in
-- bloom.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    -- Configs of the checkpoints have older names.
    local function either(name, older) return model:size(config[older] and older or name) end
    local width, heads = either("hidden_size", "n_embed"), either("n_head", "num_attention_heads")
    if model:flag("apply_residual_connection_post_layernorm", false) then
        model:refuse("apply_residual_connection_post_layernorm", "is true, which is not known here")
    end
    local n = decoder.sizes(model, config, {
        width = width, heads = heads, kv_heads = heads, hidden = 4 * width,
        n_layers = either("n_layer", "num_hidden_layers"), length = model:size("seq_length", 2048),
        epsilon = model:number("layer_norm_epsilon", 1e-5)})
    decoder.build(model, config, {
        sizes = n, norm = layers.layer_norm, rotated = 0, alibi = 1, tied = true,
        names = {root = "transformer", embed = "word_embeddings", layers = "h",
                 attention = "self_attention", norm = "ln_f"},
        embed = function(x)
            return layers.layer_norm(model, "word_embeddings_layernorm", x, width, n.epsilon)
        end,
        heads = {names = {"query_key_value", "dense"}, packed = "group", bias = true,
                 out_bias = true},
        mlp = function(x)
            return layers.mlp(model, "mlp", x, width, n.hidden,
                {"dense_h_to_4h", "dense_4h_to_h"}, {act = "gelu_new", bias = true})
        end})
end
