-- mpt.lua: MPT (MosaicML 2023) from a config.json of "model_type": "mpt": no layer has a bias, and
-- positions shift scores (ALiBi). Parameters are those of MptForCausalLM, the head being the
-- embedding: 6,649,286,656 in mpt-7b.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

local function norm(model, name, x, width, epsilon)
    return layers.layer_norm(model, name, x, width, epsilon, {bias = false})
end

function MODEL(model, config)
    local width, heads = model:size("d_model"), model:size("n_heads")
    local n = decoder.sizes(model, config, {
        width = width, heads = heads, kv_heads = heads, n_layers = model:size("n_layers"),
        hidden = model:size("expansion_ratio", 4) * width,
        length = model:size("max_seq_len", 2048),
        epsilon = model:number("layer_norm_epsilon", 1e-5)})
    decoder.build(model, config, {
        sizes = n, tied = true, norm = norm, rotated = 0,
        norms = {{before = "norm_1"}, {before = "norm_2"}},
        names = {root = "transformer", embed = "wte", layers = "blocks", attention = "attn",
                 norm = "norm_f"},
        alibi = model:flag("attn_config.alibi", true) and 1.0,
        heads = {names = {"Wqkv", "out_proj"}, packed = "row",
                 clip = model:number("attn_config.clip_qkv", false),
                 scale = model:number("attn_config.softmax_scale", false) or nil},
        mlp = function(x)
            return layers.mlp(model, "ffn", x, width, n.hidden, {"up_proj", "down_proj"},
                {act = "gelu"})
        end})
end
