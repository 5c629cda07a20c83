-- gpt_neox.lua: GPT-NeoX and Pythia (Black et al. 2022, Biderman et al. 2023) from a config.json of
-- "model_type": "gpt_neox". Parameters are those of GPTNeoXForCausalLM: 20,554,567,680 in
-- gpt-neox-20b.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local n = decoder.sizes(model, config, {
        kv_heads = model:size("num_attention_heads"),
        epsilon = model:number("layer_norm_eps", 1e-5)})
    local bias = model:flag("attention_bias", true)
    decoder.build(model, config, {
        sizes = n, norm = layers.layer_norm, parallel = model:flag("use_parallel_residual", true),
        names = {root = "gpt_neox", embed = "embed_in", attention = "attention",
                 norm = "final_layer_norm", head = "embed_out"},
        rotated = decoder.rotated(model, n.head_dim, "rotary_pct", 0.25),
        theta = model:number("rotary_emb_base", 10000.0),
        heads = {names = {"query_key_value", "dense"}, packed = "group", bias = bias,
                 out_bias = bias},
        mlp = function(x)
            return layers.mlp(model, "mlp", x, n.width, n.hidden,
                {"dense_h_to_4h", "dense_4h_to_h"},
                {act = model:text("hidden_act", "gelu"), bias = true})
        end})
end
