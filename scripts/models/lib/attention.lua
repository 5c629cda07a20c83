-- attention.lua: heads, masks, rotary positions and attention as plain ops, as eager torch runs it.
--
-- Shapes: b batch, s queries, t keys, h heads, g key and value heads, d numbers of a head.

local layers = include "lib/layers"

local attention = {}

-- Numbers 0 .. n - 1, n the size of that dim of x, as i64 [n].
function attention.positions(model, x, dim)
    local n = model:op("Gather", {model:op("Shape", {x}), model:constant("dim", "i64", {}, {dim})},
        {axis = 0})
    return model:op("Range", {model:constant("first", "i64", {}, {0}), n,
        model:constant("step", "i64", {}, {1})})
end

-- What is added to scores so that a query sees the keys up to its own, of which at most `window`:
-- 0 or a large negative number, [s, s]. positions: [s].
function attention.causal_mask(model, positions, window)
    local rows = model:op("Unsqueeze", {positions, {1}})
    local columns = model:op("Unsqueeze", {positions, {0}})
    local seen = model:op("LessOrEqual", {columns, rows})
    if window then
        local far = model:op("Sub", {rows, columns})
        local width = model:constant("window", "i64", {}, {window})
        seen = model:op("And", {seen, model:op("Less", {far, width})})
    end
    return model:op("Where", {seen, 0.0, -1e30})
end

-- The tables of rotary positions (Su et al. 2021): cosine and sine, each [s, d]. positions: [s].
-- inverse: d / 2 frequencies in place of theta^(-2i/d).
function attention.rope_tables(model, positions, d, theta, inverse)
    local frequencies = inverse or {}
    for i = #frequencies + 1, d // 2 do frequencies[i] = theta ^ (-2 * (i - 1) / d) end
    local half = model:constant("inv_freq", "f32", {1, d // 2}, frequencies)
    local at = model:op("Cast", {model:op("Unsqueeze", {positions, {1}})}, {to = 1})
    local angle = model:op("Mul", {at, half})
    angle = model:op("Concat", {angle, angle}, {axis = -1})
    local function cast(x)
        return model.dtype == "f32" and x or attention.cast(model, x, model.dtype)
    end
    return {cos = cast(model:op("Cos", {angle})), sin = cast(model:op("Sin", {angle}))}
end

local onnx_types = {f32 = 1, f16 = 10, f64 = 11, bf16 = 16, i64 = 7}

function attention.cast(model, x, dtype)
    return model:op("Cast", {x}, {to = onnx_types[dtype]})
end

-- x turned by its position: x * cos + (-x2, x1) * sin. x: [b, h, s, d].
function attention.rope(model, x, tables)
    local first, second = model:op("Split", {x}, {axis = -1, num_outputs = 2}, 2)
    local turned = model:op("Concat", {model:op("Neg", {second}), first}, {axis = -1})
    return model:op("Add",
        {model:op("Mul", {x, tables.cos}), model:op("Mul", {turned, tables.sin})})
end

-- [b, s, h d] -> [b, h, s, d]; norm(x), if given, is of [b, s, h, d] on the way.
function attention.split_heads(model, x, n_heads, d, norm)
    x = model:op("Reshape", {x, {0, 0, n_heads, d}})
    if norm then x = norm(x) end
    return model:op("Transpose", {x}, {perm = {0, 2, 1, 3}})
end

-- [b, h, s, d] -> [b, s, h d]
function attention.merge_heads(model, x, n_heads, d)
    x = model:op("Transpose", {x}, {perm = {0, 2, 1, 3}})
    return model:op("Reshape", {x, {0, 0, n_heads * d}})
end

-- Keys or values of g heads for h heads of queries: [b, g, t, d] -> [b, h, t, d].
function attention.repeat_heads(model, x, n_heads, n_kv_heads, d)
    if n_heads == n_kv_heads then return x end
    if n_heads % n_kv_heads ~= 0 then
        model:refuse("num_key_value_heads",
            "is " .. n_kv_heads .. ", which " .. n_heads .. " heads cannot share evenly")
    end
    x = model:op("Unsqueeze", {x, {2}})
    x = model:op("Expand", {x, {1, 1, n_heads // n_kv_heads, 1, 1}})
    return model:op("Reshape", {x, {0, n_heads, -1, d}})
end

-- softmax(q k^T scale + mask) v, computed in f32 where softmax is: q [b, h, s, d], k [b, h, t, d],
-- v [b, h, t, e] -> [b, h, s, e]. options: scale; mask, added to [b, h, s, t].
function attention.attend(model, q, k, v, options)
    local scores = model:op("MatMul", {q, model:op("Transpose", {k}, {perm = {0, 1, 3, 2}})})
    if options.scale then scores = model:op("Mul", {scores, options.scale + 0.0}) end
    if options.mask then scores = model:op("Add", {scores, options.mask}) end
    if model.dtype ~= "f32" then scores = attention.cast(model, scores, "f32") end
    scores = model:op("Softmax", {scores}, {axis = -1})
    if model.dtype ~= "f32" then scores = attention.cast(model, scores, model.dtype) end
    return model:op("MatMul", {scores, v})
end

-- Attention of Llama and its kin: q_proj, k_proj, v_proj, o_proj; groups of heads share keys and
-- values (Ainslie et al. 2023). x: [b, s, width]. options:
--     width, heads, kv_heads, head_dim    sizes
--     rope, mask                          tables, and what is added to scores, or nil
--     bias, out_bias                      of q, k and v; of o_proj
--     norm                                epsilon of an rms norm of each head of q and k, or nil
function attention.grouped(model, name, x, options)
    local h, g, d, width = options.heads, options.kv_heads, options.head_dim, options.width
    local function project(part, n)
        return layers.linear(model, part .. "_proj", x, width, n * d, {bias = options.bias})
    end
    local function norm(part)
        return options.norm and function(x)
            return layers.rms_norm(model, part .. "_norm", x, d, options.norm)
        end
    end
    return model:module(name, function()
        local q = attention.split_heads(model, project("q", h), h, d, norm("q"))
        local k = attention.split_heads(model, project("k", g), g, d, norm("k"))
        local v = attention.split_heads(model, project("v", g), g, d)
        if options.rope then
            q, k = attention.rope(model, q, options.rope), attention.rope(model, k, options.rope)
        end
        k = attention.repeat_heads(model, k, h, g, d)
        v = attention.repeat_heads(model, v, h, g, d)
        local y = attention.attend(model, q, k, v, {scale = d ^ -0.5, mask = options.mask})
        y = attention.merge_heads(model, y, h, d)
        return layers.linear(model, "o_proj", y, h * d, width, {bias = options.out_bias})
    end)
end

return attention
