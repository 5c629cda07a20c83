-- bart.lua: layers as BART names them, which OPT, Whisper and CLIP have kept.

local layers = include "lib/layers"
local attention = include "lib/attention"

local bart = {}

local projections = {"q_proj", "k_proj", "v_proj", "out_proj"}

-- Attention with biases. n: width, heads, bias, k_bias. options: mask, memory.
function bart.attention(model, name, x, n, options)
    local bias = n.bias ~= false
    return attention.grouped(model, name, x, {
        width = n.width, heads = n.heads, names = projections, bias = bias, out_bias = bias,
        k_bias = n.k_bias, mask = options.mask, memory = options.memory})
end

-- x + attention and x + MLP. n: as above; hidden, act, epsilon; attention_norm, mlp_norm: names;
-- norm_last: norms come after the sum; mlp: the module of fc1 and fc2, if they have one.
-- options: mask; memory: what a decoder sees of the encoder, or nil.
function bart.layer(model, x, n, options)
    local function norm(name, y) return layers.layer_norm(model, name, y, n.width, n.epsilon) end
    local place = n.norm_last and "last" or "before"
    x = layers.residual(model, x, norm, {[place] = n.attention_norm or "self_attn_layer_norm"},
        function(y) return bart.attention(model, "self_attn", y, n, {mask = options.mask}) end)
    if options.memory then
        x = layers.residual(model, x, norm, {[place] = "encoder_attn_layer_norm"}, function(y)
            return bart.attention(model, "encoder_attn", y, n, {memory = options.memory})
        end)
    end
    return layers.residual(model, x, norm, {[place] = n.mlp_norm or "final_layer_norm"},
        function(y)
            local function linear(name, y, n_in, n_out)
                return layers.linear(model, name, y, n_in, n_out, {bias = n.bias ~= false})
            end
            local function mlp()
                local hidden = linear("fc1", y, n.width, n.hidden)
                hidden = layers.activation(model, n.act, hidden)
                return linear("fc2", hidden, n.hidden, n.width)
            end
            return n.mlp and model:module(n.mlp, mlp) or mlp()
        end)
end

-- Rows of a table of learned positions, from `first` on: [s, width]. positions: [s].
function bart.positions(model, name, positions, n_rows, width, first)
    if first then positions = model:op("Add", {positions, {first}}) end
    return (layers.embedding(model, name, positions, n_rows, width))
end

return bart
