-- attention.lua: heads, masks and attention, as one op, as flash attention runs it, or as plain ops,
-- as eager torch does. The config chooses by "attn_implementation", as in Hugging Face's: "eager" is
-- plain ops, anything else, and nothing, one op. Sinks and dropout need plain ops.
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

-- ---- inference with a cache ----
--
-- Where the free dim `context` is given, the graph is a step of inference: the tokens of input_ids
-- follow `context` others, whose keys and values are inputs, past_key_values.N.key and .value as in
-- Hugging Face's exports; those of the new tokens are outputs, present.N.key and .value, which the
-- caller appends. context=0 is a prefill, seq=1 a step of decoding.

local n_cached, places_known = 0, false -- layers that have a cache already; whether places() was asked

-- Positions of the tokens in their sequence: i64 [s]. field: of the config, how many there are, where
-- each has an embedding.
function attention.places(model, ids, field)
    local positions = attention.positions(model, ids, 1)
    local context = model:dim("context")
    local last = context and context + model:dim("seq")
    if last and field and last > model:size(field, last) then
        model:refuse(field, ("is %d, and a sequence has %d tokens"):format(model:size(field), last))
    end
    places_known = context ~= nil
    if not context or context == 0 then return positions end
    return model:op("Add", {positions, model:constant("context", "i64", {}, {context})})
end

-- x of the last token alone, which the next one is drawn from, in a step of inference: [b, s, n] ->
-- [b, 1, n].
function attention.last_token(model, x)
    if not places_known or model:dim("seq") == 1 then return x end
    return model:op("Slice", {x, {-1}, {model:dim("seq")}, {1}})
end

-- Of tokens before these, as many as a window lets the new ones see: a size, and its name as a dim.
local function remembered(model, window)
    local context = model:dim("context")
    if not window or context < window then return context, "context" end
    return window - 1, window - 1
end

-- Positions of the keys that the cache has: i64 [t]; `more` behind them too.
function attention.remembered_places(model, window, more)
    local t, context = remembered(model, window), model:dim("context")
    return model:op("Range", {model:constant("oldest", "i64", {}, {context - t}),
        model:constant("newest", "i64", {}, {context + (more or 0)}),
        model:constant("each", "i64", {}, {1})})
end

-- Makes the list of {name, value, heads, numbers of a head}, each [b, heads, s, numbers], what a layer
-- adds to its cache. Gives what the cache has of each, [b, heads, t, numbers], as a list; nil while
-- it is empty.
function attention.remember(model, window, values)
    local t, dim = remembered(model, window)
    local past = t > 0 and {} or nil
    for i, it in ipairs(values) do
        local name, value, heads, d = table.unpack(it)
        if past then
            past[i] = model:input(("past_key_values.%d.%s"):format(n_cached, name), model.dtype,
                {"batch", heads, dim, d})
        end
        model:output(value, ("present.%d.%s"):format(n_cached, name))
    end
    n_cached = n_cached + 1
    return past
end

-- An op whose input 3 is the state before the first token and whose output 1 is that behind the last:
-- in a step of inference the one is an input of the graph and the other an output. sizes: of the state,
-- behind the batch.
function attention.carry(model, op, inputs, attrs, name, sizes)
    if not places_known then return (model:op(op, inputs, attrs)) end
    if model:dim("context") > 0 then
        inputs[4] = model:input(("past_key_values.%d.%s"):format(n_cached, name), model.dtype,
            {"batch", table.unpack(sizes)})
        inputs[3] = inputs[3] or false
    end
    local y, state = model:op(op, inputs, attrs, 2)
    model:output(state, ("present.%d.%s"):format(n_cached, name))
    return y
end

-- The layer has all of its states: the next one counts on.
function attention.carried() n_cached = n_cached + 1 end

local function transposed(model, x) return model:op("Transpose", {x}, {perm = {0, 1, 3, 2}}) end

-- What queries make of past and of new keys, by plain ops. Scores are summed in parts, as flash
-- decoding sums them, so that a cache may be sharded along its tokens: exp(s - max) v over all keys,
-- divided by the sum of exp(s - max). scores and values: of the past, then of the new tokens; more:
-- scores of no value, or nil.
function attention.softmax_of_parts(model, scores, values, more)
    local function of_parts(op, x)
        return model:op(op, {x, {-1}}, {keepdims = 1})
    end
    local most = model:op("Max", {of_parts("ReduceMax", scores[1]), of_parts("ReduceMax", scores[2])})
    if more then most = model:op("Max", {most, more}) end
    local function weights(x) return model:op("Exp", {model:op("Sub", {x, most})}) end
    local past, new = weights(scores[1]), weights(scores[2])
    local sum = model:op("Add", {of_parts("ReduceSum", past), of_parts("ReduceSum", new)})
    if more then sum = model:op("Add", {sum, weights(more)}) end
    local y = model:op("Add",
        {model:op("MatMul", {past, values[1]}), model:op("MatMul", {new, values[2]})})
    return model:op("Div", {y, sum})
end

function attention.is_eager(model)
    return model:text("attn_implementation", "flash") == "eager"
end

-- How many of the weights of attention are dropped in training, of a model with that dropout: none
-- where attention is one op, which drops none.
function attention.dropout(model, ratio)
    if ratio == 0 or attention.is_eager(model) then return ratio end
    print("attention is one op, which drops none of its weights; attention=eager does")
    return 0
end

-- What is added to scores so that a query sees the keys up to its own, of which at most `window`:
-- 0 or a large negative number, [s, t]. positions: [s]; keys: those of the keys, [t].
local function mask_values(model, positions, window, keys)
    local name = keys and "window_of_past" or "window"
    local rows = model:op("Unsqueeze", {positions, {1}})
    local columns = model:op("Unsqueeze", {keys or positions, {0}})
    local seen = model:op("LessOrEqual", {columns, rows})
    if window then
        local far = model:op("Sub", {rows, columns})
        local width = model:constant(name, "i64", {}, {window})
        seen = model:op("And", {seen, model:op("Less", {far, width})})
    end
    return model:op("Where", {seen, 0.0, -1e30})
end

-- Where a query sees the keys of its own chunk of so many tokens alone, gives that size for
-- causal_mask, nil where all tokens are of one chunk; and how many of the keys before them are of it.
function attention.chunked(model, chunk)
    local context, seq = places_known and model:dim("context") or 0, model:dim("seq")
    if context + seq <= chunk then return nil, nil end
    if context == 0 then return chunk, nil end
    if context // chunk == (context + seq - 1) // chunk then return nil, context % chunk end
    return model:refuse("attention_chunk_size", ("is %d: the tokens of a step of inference are of "
        .. "one chunk, and these are of two"):format(chunk))
end

-- 0 for keys of the query's own chunk, a large negative number for others: [s, t].
local function chunk_values(model, positions, chunk)
    local part = model:op("Div", {positions, model:constant("chunk", "i64", {}, {chunk})})
    local same = model:op("Equal",
        {model:op("Unsqueeze", {part, {1}}), model:op("Unsqueeze", {part, {0}})})
    return model:op("Where", {same, 0.0, -1e30})
end

-- A mask for attention.attend: each query sees the keys up to its own, of which at most `window`, or
-- those of its own `chunk`, or of the cache the last `kept`; bias, if given, is added to scores too.
-- positions: [s].
function attention.causal_mask(model, positions, window, bias, chunk, kept)
    local whole = chunk and model:dim("seq") % chunk == 0
    if chunk and not whole then
        bias = chunk_values(model, positions, chunk)
    end
    local mask = {window = window, bias = bias, cached = places_known, chunk = whole and chunk,
                  reach = kept and kept + 1 or window}
    if whole then
        local first = model:op("Slice", {positions, {0}, {chunk}, {0}})
        mask.inner = attention.causal_mask(model, first)
        return mask
    end
    local values, parts = nil, {}
    -- Of the keys in the cache (1), of new ones (2).
    function mask.part(i)
        if not parts[i] then
            local keys = i == 1 and attention.remembered_places(model, mask.reach) or nil
            parts[i] = mask_values(model, positions, window, keys)
        end
        return parts[i]
    end
    function mask.values()
        if not values then
            values = mask_values(model, positions, window)
            if bias then values = model:op("Add", {values, bias}) end
        end
        return values
    end
    if attention.is_eager(model) and not mask.cached then mask.values() end
    return mask
end

-- ALiBi (Press et al. 2022): slope * key position, added to the scores of each head: [1, h, 1, s].
-- The slopes are 2^(-8 i / p) for p heads, a power of two; other numbers of heads take every second
-- slope of the next power first. positions: [s].
function attention.alibi(model, positions, n_heads, scale)
    local power, slopes = 1, {}
    while power < n_heads do power = 2 * power end
    local function add(first, step)
        for i = first, power, step do
            if #slopes < n_heads then slopes[#slopes + 1] = (scale or 1) * 2 ^ (-8 * i / power) end
        end
    end
    if power == n_heads then
        add(1, 1)
    else
        add(2, 2)
        add(1, 2)
    end
    local slope = model:constant("alibi_slopes", model.dtype, {1, n_heads, 1, 1}, slopes)
    return model:op("Mul", {slope, attention.cast(model, positions, model.dtype)})
end

-- The tables of rotary positions (Su et al. 2021): cosine and sine of position * frequency, times
-- scale, each [s, d]. positions: [s]; frequencies: d / 2 numbers. Numbers that rotate together are
-- d / 2 apart, or neighbours with pairs.
function attention.rope_tables(model, positions, frequencies, scale, pairs)
    local half = model:constant("inv_freq", "f32", {1, #frequencies}, frequencies)
    local at = model:op("Cast", {model:op("Unsqueeze", {positions, {1}})}, {to = 1})
    local angle = model:op("Mul", {at, half})
    if pairs then
        angle = model:op("Unsqueeze", {angle, {2}})
        angle = model:op("Reshape", {model:op("Concat", {angle, angle}, {axis = -1}), {0, -1}})
    else
        angle = model:op("Concat", {angle, angle}, {axis = -1})
    end
    local function finish(x)
        if model.dtype ~= "f32" then x = attention.cast(model, x, model.dtype) end
        return scale and scale ~= 1 and model:op("Mul", {x, scale}) or x
    end
    return {cos = finish(model:op("Cos", {angle})), sin = finish(model:op("Sin", {angle})),
            d = 2 * #frequencies, pairs = pairs}
end

local onnx_types = {f32 = 1, f16 = 10, f64 = 11, bf16 = 16, i64 = 7}

function attention.cast(model, x, dtype)
    return model:op("Cast", {x}, {to = onnx_types[dtype]})
end

-- x rotated by its position: x * cos + (-x2, x1) * sin. x: [b, h, s, d]; numbers of a head beyond
-- those in the tables stay as they are.
function attention.rope(model, x, tables, d)
    local rest
    if d and d > tables.d then
        x, rest = model:op("Split", {x, {tables.d, d - tables.d}}, {axis = -1}, 2)
    end
    local halves = tables.pairs and model:op("Reshape", {x, {0, 0, 0, -1, 2}}) or x
    local first, second = model:op("Split", {halves}, {axis = -1, num_outputs = 2}, 2)
    local rotated = model:op("Concat", {model:op("Neg", {second}), first}, {axis = -1})
    if tables.pairs then rotated = model:op("Reshape", {rotated, {0, 0, 0, -1}}) end
    x = model:op("Add",
        {model:op("Mul", {x, tables.cos}), model:op("Mul", {rotated, tables.sin})})
    return rest and model:op("Concat", {x, rest}, {axis = -1}) or x
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

local function check_groups(model, n_heads, n_kv_heads)
    if n_heads % n_kv_heads ~= 0 then
        model:refuse("num_key_value_heads",
            "is " .. n_kv_heads .. ", which " .. n_heads .. " heads cannot share evenly")
    end
end

-- Keys or values of g heads for h heads of queries: [b, g, t, d] -> [b, h, t, d].
local function repeat_heads(model, x, n_heads, n_kv_heads, d)
    if n_heads == n_kv_heads then return x end
    x = model:op("Unsqueeze", {x, {2}})
    x = model:op("Expand", {x, {1, 1, n_heads // n_kv_heads, 1, 1}})
    return model:op("Reshape", {x, {0, n_heads, -1, d}})
end

-- A column of scores that no key has, so that a head may attend to nothing: weight [h].
local function with_sink(model, scores, sinks, n_heads)
    local rows = model:op("Slice", {model:op("Shape", {scores}), {0}, {3}})
    local shape = model:op("Concat", {rows, {1}}, {axis = 0})
    local sink = model:op("Reshape", {sinks, {1, n_heads, 1, 1}})
    return model:op("Concat", {scores, model:op("Expand", {sink, shape})}, {axis = -1})
end

-- softmax(q k^T scale + mask) v as one op, which reads keys and values of g heads for h heads of
-- queries.
local function flash(model, q, k, v, options)
    local attrs, mask = {scale = (options.scale or 1) + 0.0}, options.mask
    if options.cap then attrs.softcap = options.cap + 0.0 end
    if type(mask) == "table" then
        attrs.is_causal = 1
        if mask.window then attrs.left_window_size = mask.window - 1 end
        mask = mask.bias
    end
    local inputs = {q, k, v, mask}
    if options.past then inputs = {q, k, v, mask or false, table.unpack(options.past)} end
    return model:op("Attention", inputs, attrs)
end

-- The same over past and new keys, by plain ops. Queries of one token are grouped by the keys that
-- they share; those of several read keys and values that are repeated.
local function plain_with_past(model, q, k, v, options)
    local h, g, d, mask = options.heads, options.kv_heads or options.heads, options.head_dim, options.mask
    local keys, values, one = {options.past[1], k}, {options.past[2], v}, model:dim("seq") == 1
    local bias = {}
    if mask.bias then
        local t = remembered(model, mask.reach)
        bias = {model:op("Split", {mask.bias, {t, model:dim("seq")}}, {axis = -1}, 2)}
    end
    local function grouped(x) -- [.., h, 1, n] -> [.., g, h / g, n]
        return x and one and g < h and model:op("Reshape", {x, {0, g, h // g, -1}}) or x
    end
    q = grouped(q)
    local function scores(i)
        if not one then
            keys[i] = repeat_heads(model, keys[i], h, g, d)
            values[i] = repeat_heads(model, values[i], h, g, d)
        end
        local s = model:op("MatMul", {q, transposed(model, keys[i])})
        if options.scale then s = model:op("Mul", {s, options.scale + 0.0}) end
        if options.cap then s = layers.soft_cap(model, s, options.cap) end
        if bias[i] then s = model:op("Add", {s, grouped(bias[i])}) end
        return one and s or model:op("Add", {s, mask.part(i)})
    end
    local sinks = options.sinks and grouped(model:op("Reshape", {options.sinks, {1, h, 1, 1}}))
    local y = attention.softmax_of_parts(model, {scores(1), scores(2)}, values, sinks)
    return one and g < h and model:op("Reshape", {y, {0, h, 1, -1}}) or y
end

-- Each chunk of the sequence by itself, as one of more sequences of the batch.
local function attend_chunks(model, q, k, v, options)
    local o = setmetatable({mask = options.mask.inner, uncached = true}, {__index = options})
    local chunk = options.mask.chunk
    local function apart(x, n) -- [b, n, s, d] -> [b s / c, n, c, d]
        x = model:op("Reshape", {x, {0, n, -1, chunk, options.head_dim}})
        x = model:op("Transpose", {x}, {perm = {0, 2, 1, 3, 4}})
        return model:op("Reshape", {x, {-1, n, chunk, options.head_dim}})
    end
    local g = options.kv_heads or options.heads
    local y = attention.attend(model, apart(q, options.heads), apart(k, g), apart(v, g), o)
    y = model:op("Reshape",
        {y, {-1, model:dim("seq") // chunk, options.heads, chunk, options.head_dim}})
    y = model:op("Transpose", {y}, {perm = {0, 2, 1, 3, 4}})
    return model:op("Reshape", {y, {0, options.heads, -1, options.head_dim}})
end

-- softmax(q k^T scale + mask) v; softmax of 16 bits computes in f32 inside, as fused kernels do: q [b, h, s, d], k [b, g, t, d],
-- v [b, g, t, e] -> [b, h, s, e]. options:
--     scale
--     mask     added to [b, h, s, t], or a causal_mask
--     heads, kv_heads, head_dim    h, g and d, if keys and values have fewer heads
--     cap      scores become cap * tanh(scores / cap)
--     sinks    a score of each head that takes weight from the keys; heads: how many
--     dropout  of the weights, in training
--     uncached    in a step of inference, it has no cache of its own: the caller keeps one
-- A causal_mask in a step of inference needs heads, kv_heads and head_dim.
function attention.attend(model, q, k, v, options)
    local mask = options.mask
    if options.kv_heads then check_groups(model, options.heads, options.kv_heads) end
    if type(mask) == "table" and mask.cached and not options.uncached then
        local g, d = options.kv_heads or options.heads, options.head_dim
        options.past = attention.remember(model, mask.reach, {{"key", k, g, d}, {"value", v, g, d}})
        if options.past and (attention.is_eager(model) or options.sinks) then
            return plain_with_past(model, q, k, v, options)
        end
    end
    if type(mask) == "table" and mask.chunk then return attend_chunks(model, q, k, v, options) end
    if not (attention.is_eager(model) or options.sinks or (options.dropout or 0) > 0) then
        return flash(model, q, k, v, options)
    end
    if options.kv_heads then
        k = repeat_heads(model, k, options.heads, options.kv_heads, options.head_dim)
        v = repeat_heads(model, v, options.heads, options.kv_heads, options.head_dim)
    end
    if type(mask) == "table" then mask = mask.values() end
    local scores = model:op("MatMul", {q, transposed(model, k)})
    if options.scale then scores = model:op("Mul", {scores, options.scale + 0.0}) end
    if options.cap then scores = layers.soft_cap(model, scores, options.cap) end
    if mask then scores = model:op("Add", {scores, mask}) end
    if options.sinks then scores = with_sink(model, scores, options.sinks, options.heads) end
    scores = model:op("Softmax", {scores}, {axis = -1})
    if options.sinks then scores = model:op("Slice", {scores, {0}, {-1}, {3}}) end
    if options.dropout then scores = layers.dropout(model, scores, options.dropout) end
    return model:op("MatMul", {scores, v})
end

local function clipped(model, y, o)
    return o.clip and model:op("Clip", {y, -o.clip, o.clip + 0.0}) or y
end

-- q, k and v of one linear layer; o.packed says how they lie in it:
--     "row"    all of q, all of k, all of v
--     "group"  for each group of heads: its queries, its key, its value (Falcon, GPT-NeoX, Megatron)
local function packed(model, x, o)
    local h, g, d = o.heads, o.kv_heads, o.head_dim
    local y = layers.linear(model, o.names[1], x, o.width, (h + 2 * g) * d, {bias = o.bias})
    y = clipped(model, y, o)
    if o.packed == "row" and h == g then
        return model:op("Split", {y}, {axis = -1, num_outputs = 3}, 3)
    elseif o.packed == "row" then
        return model:op("Split", {y, {h * d, g * d, g * d}}, {axis = -1}, 3)
    end
    y = model:op("Reshape", {y, {0, 0, g, h // g + 2, d}})
    return model:op("Split", {y, {h // g, 1, 1}}, {axis = 3}, 3)
end

local function projections(model, x, o)
    if o.packed then return packed(model, x, o) end
    local keys = o.memory or x
    local function project(i, from, n, bias)
        return layers.linear(model, o.names[i], from, o.width, n * o.head_dim, {bias = bias})
    end
    local k_bias, q, gate = o.k_bias, nil, nil
    if k_bias == nil then k_bias = o.bias end
    if o.gated then
        q = model:op("Reshape", {project(1, x, 2 * o.heads, o.bias), {0, 0, o.heads, -1}})
        q, gate = model:op("Split", {q}, {axis = 3, num_outputs = 2}, 2)
        gate = model:op("Reshape", {gate, {0, 0, o.heads * o.head_dim}})
    else
        q = project(1, x, o.heads, o.bias)
    end
    return q, project(2, keys, o.kv_heads, k_bias), project(3, keys, o.kv_heads, o.bias), gate
end

-- Attention in which groups of heads share keys and values (Ainslie et al. 2023).
-- x: [b, s, width]. options:
--     width, heads, kv_heads, head_dim    sizes; kv_heads: heads, head_dim: width / heads
--     names                               of the projections of q, k, v and the output, or of the
--                                         packed one and the output; default Llama's
--     packed                              "row", "group": q, k and v are one linear layer
--     bias, k_bias, out_bias              of q, k and v; of k if it differs; of the output
--     memory                              what k and v are made from, if not x
--     rope, mask, scale, cap, dropout     as in attention.attend; rope: tables; scale: d^-0.5
--     sinks                               whether each head has a sink
--     norm                                norm(part, x, n) of each head of q and k, parts "q", "k"
--     norm_all                            the same of all heads together
--     norm_turned                         the same of each head behind its rotation, [b, h, s, d]
--     query_scale                         a value that q is multiplied by, [s, 1]
--     clip                                the largest number of q, k and v
--     gated                               q's projection gives a gate of what attention gives, too:
--                                         behind the numbers of each head
function attention.grouped(model, name, x, options)
    local o = setmetatable({}, {__index = options})
    o.names = options.names or {"q_proj", "k_proj", "v_proj", "o_proj"}
    o.kv_heads = options.kv_heads or options.heads
    o.head_dim = options.head_dim or options.width // options.heads
    local h, g, d = o.heads, o.kv_heads, o.head_dim
    local function split(part, y, n)
        if o.norm_all then y = o.norm_all(part, y, n * d) end
        if not o.packed then y = clipped(model, y, o) end
        local norm = o.norm and function(y) return o.norm(part, y, d) end
        y = attention.split_heads(model, y, n, d, norm)
        y = o.rope and attention.rope(model, y, o.rope, d) or y
        return o.norm_turned and o.norm_turned(part, y, d) or y
    end
    return model:module(name, function()
        local q, k, v, gate = projections(model, x, o)
        q, k = split("q", q, h), split("k", k, g)
        if o.query_scale then q = model:op("Mul", {q, o.query_scale}) end
        if not o.packed then v = clipped(model, v, o) end
        v = attention.split_heads(model, v, g, d)
        local y = attention.attend(model, q, k, v, {
            scale = o.scale or d ^ -0.5, mask = o.mask, cap = o.cap, dropout = o.dropout,
            sinks = o.sinks and model:param("sinks", {h}), heads = h, kv_heads = g,
            head_dim = d})
        y = attention.merge_heads(model, y, h, d)
        if gate then y = model:op("Mul", {y, model:op("Sigmoid", {gate})}) end
        return layers.linear(model, o.names[#o.names], y, h * d, o.width, {bias = o.out_bias})
    end)
end

-- What queries are multiplied by, so that attention stays sharp in long sequences (Nakanishi 2025):
-- log(1 + floor(position / length)) scale + 1, [s, 1]; from_one: positions count from 1.
function attention.temperature(model, positions, length, scale, from_one)
    local at = model:op("Unsqueeze", {attention.cast(model, positions, "f32"), {1}})
    local function number(name, value) return model:constant(name, "f32", {}, {value}) end
    local one = number("one", 1)
    if from_one then at = model:op("Add", {at, one}) end
    local y = model:op("Floor", {model:op("Div", {at, number("length", length)})})
    y = model:op("Mul", {model:op("Log", {model:op("Add", {y, one})}), number("scale", scale)})
    y = model:op("Add", {y, one})
    return model.dtype == "f32" and y or attention.cast(model, y, model.dtype)
end

return attention
