-- lfm.lua: what LFM2's models (Liquid AI 2025) share, dense or with experts.

local attention = include "lib/attention"
local decoder = include "lib/decoder"
local layers = include "lib/layers"
local mamba = include "lib/mamba"

local lfm = {}

-- Which layers have attention: all where the config lists none.
local function attends(config)
    local kinds, list, places = config.layer_types, config.full_attn_idxs, {}
    if type(kinds) == "table" then return function(i) return kinds[i + 1] ~= "conv" end end
    if type(list) ~= "table" then return function() return true end end
    for _, i in ipairs(list) do places[i] = true end
    return function(i) return places[i] end
end

-- out(c * conv(b * x)), b, c and x of one linear layer.
local function short_conv(model, x, width, bias, kernel)
    return model:module("conv", function()
        local y = layers.linear(model, "in_proj", x, width, 3 * width, {bias = bias})
        local b, c, value = model:op("Split", {y}, {axis = -1, num_outputs = 3}, 3)
        y = mamba.conv1d(model, model:op("Mul", {b, value}), width,
            {name = "conv", kernel = kernel, bias = bias, activation = "none"})
        attention.carried()
        return layers.linear(model, "out_proj", model:op("Mul", {c, y}), width, width, {bias = bias})
    end)
end

-- Most layers have a short convolution between two gates, a few attention whose heads of q and k have an
-- rms norm each. mlp(x, i), or nil: what stands in place of the gated MLP, of `hidden` numbers; it gives nil
-- for layers that have that.
function lfm.build(model, config, hidden, mlp)
    local n = decoder.sizes(model, config, {epsilon = model:number("norm_eps", 1e-5), hidden = hidden})
    local has_attention, bias = attends(config), model:flag("conv_bias", false)
    local kernel = model:size("conv_L_cache", 3)
    decoder.build(model, config, {
        sizes = n, theta = 1000000.0, tied = model:flag("tie_embedding", true),
        names = {norm = "embedding_norm"},
        norms = {{before = "operator_norm"}, {before = "ffn_norm"}},
        kind = function(i) return has_attention(i) and "attention" or "conv" end,
        heads = {names = {"q_proj", "k_proj", "v_proj", "out_proj"}, norm = function(part, y, d)
            return layers.rms_norm(model, part .. "_layernorm", y, d, n.epsilon)
        end},
        mixer = function(x, i)
            return not has_attention(i) and short_conv(model, x, n.width, bias, kernel) or nil
        end,
        mlp = function(x, i)
            return mlp and mlp(x, i) or layers.gated_mlp(model, "feed_forward", x, n.width, hidden,
                {names = {"w1", "w3", "w2"}})
        end})
end

return lfm
