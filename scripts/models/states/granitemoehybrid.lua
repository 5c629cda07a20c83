-- granitemoehybrid.lua: Granite 4 (IBM 2025) from a config.json of "model_type": "granitemoehybrid": most
-- layers are Mamba 2's, a few have attention; each has a gated MLP, and experts beside it in most models.
-- Parameters are those of GraniteMoeHybridForCausalLM, whose checkpoints stack the experts of a layer:
-- 32,207,337,984 in granite-4.0-h-small.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local decoder = include "lib/decoder"
local granite = include "lib/granite"
local layers = include "lib/layers"
local mamba = include "lib/mamba"

-- Whether layer i carries a state: all do where the config lists no kinds.
local function carries(config)
    local kinds = config.layer_types or config.layers_block_type
    return function(i)
        local kind = type(kinds) == "table" and kinds[i + 1] or "mamba"
        return kind == "mamba" or kind == "linear_attention"
    end
end

function MODEL(model, config)
    local sizes = decoder.sizes(model, config)
    local inner = model:size("mamba_expand", 2) * sizes.width
    local heads = model:size("mamba_n_heads", 128)
    local n = mamba.second_sizes(model, config, {
        width = sizes.width, inner = inner, heads = heads,
        d = type(config.mamba_d_head) == "number" and model:size("mamba_d_head") or inner // heads,
        groups = model:size("mamba_n_groups", 1), state = model:size("mamba_d_state", 256),
        bias = model:flag("mamba_proj_bias", false), kernel = model:size("mamba_d_conv", 4),
        conv_bias = model:flag("mamba_conv_bias", true), epsilon = sizes.epsilon},
        {heads = "mamba_n_heads", d = "mamba_d_head", groups = "mamba_n_groups", expand = "mamba_expand"})
    local is_state, family = carries(config), granite.family(model)
    local experts = config.num_local_experts ~= 0 and granite.experts(model, config)
    family.sizes = sizes
    if model:text("position_embedding_type", "nope") ~= "rope" then family.rotated = 0 end
    function family.kind(i) return is_state(i) and "mamba" or "attention" end
    function family.mixer(x, i)
        return is_state(i) and model:module("mamba", function() return mamba.second(model, x, n) end)
            or nil
    end
    function family.mlp(x)
        local y = layers.packed_gated_mlp(model, "shared_mlp", x, sizes.width,
            model:size("shared_intermediate_size", 1024),
            {act = model:text("hidden_act", "silu"), names = {"input_linear", "output_linear"}})
        return experts and model:op("Add", {experts(x), y}) or y
    end
    decoder.build(model, config, family)
end
