-- nemotron_h.lua: Nemotron-H, Nemotron Nano 2 and Nemotron 3 (NVIDIA 2025) from a config.json of
-- "model_type": "nemotron_h": a layer is a norm and one of Mamba 2's mixer, attention without
-- positions, an MLP of squared relu, or such experts. Parameters are those of NemotronHForCausalLM,
-- named as in checkpoints, whose experts lie one by one.
-- config.capacity_factor (1, or dropless) and expert_load: lib/moe.lua, --set capacity and load.

local attention = include "lib/attention"
local decoder = include "lib/decoder"
local deepseek = include "lib/deepseek"
local layers = include "lib/layers"
local mamba = include "lib/mamba"
local moe = include "lib/moe"

local OF_LETTER = {M = "mamba", E = "moe", ["*"] = "attention", ["-"] = "mlp"}
local OF_WORD = {linear_attention = "mamba", full_attention = "attention", mamba = "mamba", attention = "attention",
                 moe = "moe", mlp = "mlp"}

-- What each layer is: a list of words, or a letter for each layer.
local function kinds_of(model, config)
    local list, kinds = config.layers_block_type or config.layer_types, {}
    if type(list) == "table" then
        for i, word in ipairs(list) do
            kinds[i] = OF_WORD[word] or model:refuse("layers_block_type", "has a layer '" .. tostring(word)
                .. "': they are mamba, attention, moe and mlp")
        end
        return kinds
    end
    for letter in model:text("hybrid_override_pattern", "ME*-"):gmatch(".") do
        kinds[#kinds + 1] = OF_LETTER[letter] or model:refuse("hybrid_override_pattern", "has a layer '" .. letter
            .. "': M is Mamba, * attention, E experts and - an MLP")
    end
    return kinds
end

local function experts_of(model, config, act, bias)
    local options = moe.options(model, config, "n_routed_experts")
    local latent = config.moe_latent_size and model:size("moe_latent_size")
    local inner = latent or options.width
    options.normed = model:flag("norm_topk_prob", true)
    options.scale = model:number("routed_scaling_factor", 1)
    options.groups, options.top_groups = deepseek.groups(model, options.experts, options.top_k, true)
    options.choose = deepseek.choose_by_sigmoid
    options.latent, options.latent_bias = latent, bias
    function options.expert(x)
        return model:module("experts", function()
            local y = moe.linear(model, "up_proj", x, options.experts, inner, options.hidden)
            return moe.linear(model, "down_proj", layers.activation(model, act, y), options.experts,
                options.hidden, inner)
        end)
    end
    function options.shared(x)
        return layers.mlp(model, "shared_experts", x, options.width,
            model:size("moe_shared_expert_intermediate_size", 7688), {"up_proj", "down_proj"},
            {act = act, bias = bias})
    end
    return options
end

function MODEL(model, config)
    local kinds = kinds_of(model, config)
    local n = decoder.sizes(model, config, {
        n_layers = #kinds, hidden = model:size("intermediate_size", 21504), head_dim = model:size("head_dim", 128),
        epsilon = model:number("layer_norm_epsilon", 1e-5)})
    local heads, d = model:size("mamba_num_heads", 128), model:size("mamba_head_dim", 64)
    local state = mamba.second_sizes(model, config, {
        width = n.width, inner = heads * d, heads = heads, d = d, groups = model:size("n_groups", 8),
        state = model:size("ssm_state_size", 128), bias = model:flag("use_bias", false),
        kernel = model:size("conv_kernel", 4), conv_bias = model:flag("use_conv_bias", true),
        epsilon = n.epsilon}, {groups = "n_groups"})
    state.limits = {model:number("time_step_min", 0.001), 1e30} -- time_step_limit is not read
    local act, bias = model:text("mlp_hidden_act", "relu2"), model:flag("mlp_bias", false)
    local experts
    local MIXERS = {
        mamba = function(x) return model:module("mixer", function() return mamba.second(model, x, state) end) end,
        attention = function(x, mask)
            return attention.grouped(model, "mixer", x, {
                width = n.width, heads = n.heads, kv_heads = n.kv_heads, head_dim = n.head_dim, mask = mask})
        end,
        mlp = function(x)
            return layers.mlp(model, "mixer", x, n.width, n.hidden, {"up_proj", "down_proj"},
                {act = act, bias = bias})
        end,
        moe = function(x)
            experts = experts or experts_of(model, config, act, bias)
            return moe.mixture(model, "mixer", x, experts)
        end,
    }
    decoder.build(model, config, {
        sizes = n, rotated = 0, norms = {{before = "norm"}},
        names = {root = "backbone", embed = "embeddings", norm = "norm_f"},
        kind = function(i) return kinds[i + 1] end,
        attention = function(x, _, mask, i) return MIXERS[kinds[i + 1]](x, mask) end})
end
