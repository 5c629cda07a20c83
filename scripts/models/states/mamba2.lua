-- mamba2.lua: Mamba 2 (Dao and Gu 2024) from a config.json of "model_type": "mamba2". Parameters are
-- those of Mamba2ForCausalLM: 7,285,403,648 in Mamba-Codestral-7B.

local mamba = include "lib/mamba"

function MODEL(model, config)
    local width = model:size("hidden_size")
    local n = mamba.second_sizes(model, config, {
        width = width, inner = model:size("expand", 2) * width, d = model:size("head_dim", 64),
        heads = model:size("num_heads", 128), groups = model:size("n_groups", 8),
        state = model:size("state_size", 128), bias = model:flag("use_bias", false),
        kernel = model:size("conv_kernel", 4), conv_bias = model:flag("use_conv_bias", true),
        epsilon = model:number("layer_norm_epsilon", 1e-5)},
        {heads = "num_heads", d = "head_dim", groups = "n_groups", expand = "expand"})
    mamba.build(model, config, function(x) return mamba.second(model, x, n) end)
end
