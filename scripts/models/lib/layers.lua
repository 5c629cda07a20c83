-- layers.lua: what most models are made of. Each function builds a module below the one that is
-- being built; parameters have the names and shapes of torch's modules.
--
--     local layers = include "lib/layers"
--     y = layers.linear(model, "q_proj", x, 4096, 4096, {bias = true})
--
-- x: [batch, seq, n_in], or any shape whose last dim is n_in.

local layers = {}

-- torch.nn.Linear: x W^T + b, with W [n_out, n_in]. options: bias; weight, a value that is W; dtype
-- of its parameters, which x must have too.
function layers.linear(model, name, x, n_in, n_out, options)
    options = options or {}
    return model:module(name, function()
        local weight = options.weight or model:param("weight", {n_out, n_in}, options.dtype)
        local y = model:op("MatMul", {x, model:op("Transpose", {weight}, {perm = {1, 0}})})
        if options.bias then
            y = model:op("Add", {y, model:param("bias", {n_out}, options.dtype)})
        end
        return y
    end)
end

-- x [.., n_in] as a matrix [rows, n_in], and what makes rows [rows, n] again [.., n].
local function as_matrix(model, x, n_in)
    local shape = model:op("Shape", {x})
    local function back(y, n)
        local rows = model:op("Slice", {shape, {0}, {-1}})
        return model:op("Reshape", {y, model:op("Concat", {rows, {n}}, {axis = 0})})
    end
    return model:op("Reshape", {x, {-1, n_in}}), back
end

-- GPT-2's Conv1D: x W + b, with W [n_in, n_out], as one op: torch.addmm.
function layers.conv1d(model, name, x, n_in, n_out)
    return model:module(name, function()
        local rows, back = as_matrix(model, x, n_in)
        local weight, bias = model:param("weight", {n_in, n_out}), model:param("bias", {n_out})
        return back(model:op("Gemm", {rows, weight, bias}), n_out)
    end)
end

-- torch.nn.Embedding: rows of a table; gives [.., width] and the table, for heads that share it.
function layers.embedding(model, name, ids, n_rows, width, dtype)
    return model:module(name, function()
        local weight = model:param("weight", {n_rows, width}, dtype)
        return model:op("Gather", {weight, ids}, {axis = 0}), weight
    end)
end

-- options: dtype; bias = false: it has none, and 0 stands in its place; weight = false: it has
-- neither; plus_one: the factor is 1 + weight (Nemotron).
function layers.layer_norm(model, name, x, width, epsilon, options)
    options = options or {}
    local function factor()
        if options.weight == false then
            local one = model:constant("one", options.dtype or model.dtype, {}, {1})
            return model:op("Expand", {one, {width}})
        end
        local weight = model:param("weight", {width}, options.dtype)
        return options.plus_one and model:op("Add", {weight, 1.0}) or weight
    end
    return model:module(name, function()
        local inputs = {x, factor()}
        if options.bias ~= false and options.weight ~= false then
            inputs[3] = model:param("bias", {width}, options.dtype)
        end
        return model:op("LayerNormalization", inputs,
            {axis = -1, epsilon = (epsilon or 1e-5) + 0.0})
    end)
end

-- x / sqrt(mean(x^2) + epsilon) * weight, over the last dim (Zhang and Sennrich 2019). options:
-- dtype; plus_one: the factor is 1 + weight (Gemma).
function layers.rms_norm(model, name, x, width, epsilon, options)
    options = options or {}
    return model:module(name, function()
        local weight = model:param("weight", {width}, options.dtype)
        if options.plus_one then weight = model:op("Add", {weight, 1.0}) end
        return model:op("RMSNormalization", {x, weight},
            {axis = -1, epsilon = (epsilon or 1e-6) + 0.0})
    end)
end

local training -- the constant that all dropouts read

-- The share that dropouts drop in training: the setting `dropout`, else `default`, 0.
function layers.dropout_ratio(model, default)
    return model:number("training_dropout", default or 0)
end

-- Keeps each element with probability 1 - ratio, in training. ratio 0: none.
function layers.dropout(model, x, ratio)
    if ratio == 0 then return x end
    if ratio < 0 or ratio >= 1 then error("dropout needs a ratio from 0 to 1, not " .. ratio) end
    training = training or model:constant("training", "bool", {}, {true})
    return model:op("Dropout", {x, ratio + 0.0, training})
end

-- cap * tanh(x / cap)
function layers.soft_cap(model, x, cap)
    return model:op("Mul", {model:op("Tanh", {model:op("Div", {x, cap + 0.0})}), cap + 0.0})
end

-- x + build(x), with norms by name where given: before it, after it, or of the sum. norm(name, y).
function layers.residual(model, x, norm, names, build)
    local function maybe(name, y) return name and norm(name, y) or y end
    local y = maybe(names.after, build(maybe(names.before, x)))
    return maybe(names.last, model:op("Add", {x, y}))
end

local activations = {
    silu = {"Swish"}, swish = {"Swish"}, relu = {"Relu"}, tanh = {"Tanh"}, gelu = {"Gelu"},
    quick_gelu = {"Swish", {alpha = 1.702}},
    gelu_new = {"Gelu", {approximate = "tanh"}},
    gelu_pytorch_tanh = {"Gelu", {approximate = "tanh"}},
    gelu_fast = {"Gelu", {approximate = "tanh"}},
    relu2 = {"Relu", squared = true},
}

-- By the name that configs use: "silu", "gelu_new".
function layers.activation(model, name, x)
    local found = activations[name]
    if not found then
        local known = {}
        for known_name in pairs(activations) do known[#known + 1] = known_name end
        model:refuse(tostring(name), "is no activation that is known",
            "known: " .. table.concat(known, " "))
    end
    local y = model:op(found[1], {x}, found[2])
    return found.squared and model:op("Mul", {y, y}) or y
end

-- The gated MLP of Llama: down(act(gate(x)) * up(x)) (Shazeer 2020). options: act, bias, names of the
-- three layers.
function layers.gated_mlp(model, name, x, width, hidden, options)
    options = options or {}
    local bias, names = {bias = options.bias}, options.names or {"gate_proj", "up_proj", "down_proj"}
    return model:module(name, function()
        local gate = layers.linear(model, names[1], x, width, hidden, bias)
        gate = model:module("act_fn", function()
            return layers.activation(model, options.act or "silu", gate)
        end)
        local up = layers.linear(model, names[2], x, width, hidden, bias)
        return layers.linear(model, names[3], model:op("Mul", {gate, up}), hidden, width, bias)
    end)
end

-- The same with gate and up in one linear layer, gate first (Phi-3, Megatron). options: act, bias,
-- names of the two layers.
function layers.packed_gated_mlp(model, name, x, width, hidden, options)
    local names = options.names or {"gate_up_proj", "down_proj"}
    return model:module(name, function()
        local y = layers.linear(model, names[1], x, width, 2 * hidden, {bias = options.bias})
        local gate, up = model:op("Split", {y}, {axis = -1, num_outputs = 2}, 2)
        y = model:op("Mul", {layers.activation(model, options.act or "silu", gate), up})
        return layers.linear(model, names[2], y, hidden, width, {bias = options.bias})
    end)
end

-- down(act(up(x))). names: of the two layers. options: act, bias.
function layers.mlp(model, name, x, width, hidden, names, options)
    return model:module(name, function()
        local y = layers.linear(model, names[1], x, width, hidden, {bias = options.bias})
        y = layers.activation(model, options.act, y)
        return layers.linear(model, names[2], y, hidden, width, {bias = options.bias})
    end)
end

return layers
