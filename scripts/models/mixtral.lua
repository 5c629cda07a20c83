-- mixtral.lua: Mixtral (Jiang et al. 2024) from a config.json of "model_type": "mixtral".
-- Parameters are those of MixtralForCausalLM, the experts of a layer stacked:
-- block_sparse_moe.experts.w1.weight is [8, 14336, 4096] and holds block_sparse_moe.experts.0.w1 to
-- experts.7.w1 of checkpoints. 46,702,792,704 in Mixtral-8x7B.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local moe = include "lib/moe"

function MODEL(model, config)
    local options = moe.capacity_options(model, config, {
        width = model:size("hidden_size"), hidden = model:size("intermediate_size"),
        experts = model:size("num_local_experts"), top_k = model:size("num_experts_per_tok"),
        act = model:text("hidden_act", "silu"), names = {"w1", "w3", "w2"},
        choose = moe.choose_then_softmax})
    decoder.build(model, config, {
        window = model:size("sliding_window", false) or nil,
        mlp = function(x) return moe.mixture(model, "block_sparse_moe", x, options) end})
end
