-- minimax_m2.lua: MiniMax-M2 (MiniMax 2025) from a config.json of "model_type": "minimax_m2": norms of
-- all heads together, experts in all layers, chosen by sigmoids and a bias. Parameters are those of
-- MiniMaxM2ForCausalLM, the experts of a layer stacked: 228,689,764,864.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local deepseek = include "lib/deepseek"
local layers = include "lib/layers"
local moe = include "lib/moe"

function MODEL(model, config)
    local n = decoder.sizes(model, config)
    local options = moe.options(model, config, "num_local_experts", "intermediate_size")
    options.normed, options.groups, options.top_groups = true, 1, 1
    options.names, options.bias_outside = {"w1", "w3", "w2"}, true
    options.choose = deepseek.choose_by_sigmoid
    local function norm_all(part, y, width)
        return layers.rms_norm(model, part .. "_norm", y, width, n.epsilon)
    end
    decoder.build(model, config, {
        sizes = n, theta = 5000000.0, heads = {norm_all = norm_all},
        rotated = model:size("rotary_dim", n.head_dim),
        mlp = function(x) return moe.mixture(model, "block_sparse_moe", x, options) end})
end
