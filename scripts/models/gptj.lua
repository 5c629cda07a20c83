-- gptj.lua: GPT-J (Wang and Komatsuzaki 2021) from a config.json of "model_type": "gptj": attention
-- and MLP are added to one x; neighbours among the first rotary_dim numbers of a head rotate
-- together. Parameters are those of GPTJForCausalLM: 6,050,882,784 in gpt-j-6b.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local width = model:size("n_embd")
    local n = decoder.sizes(model, config, {
        width = width, heads = model:size("n_head"), kv_heads = model:size("n_head"),
        n_layers = model:size("n_layer"), hidden = model:size("n_inner", 4 * width),
        length = model:size("n_positions", 2048),
        epsilon = model:number("layer_norm_epsilon", 1e-5)})
    decoder.build(model, config, {
        sizes = n, norm = layers.layer_norm, norms = {{before = "ln_1"}}, parallel = true,
        names = {root = "transformer", embed = "wte", layers = "h", attention = "attn",
                 norm = "ln_f"},
        rotated = model:size("rotary_dim", 64), pairs = true, head_bias = true,
        heads = {names = {"q_proj", "k_proj", "v_proj", "out_proj"}},
        mlp = function(x)
            return layers.mlp(model, "mlp", x, n.width, n.hidden, {"fc_in", "fc_out"},
                {act = model:text("activation_function", "gelu_new"), bias = true})
        end})
end
