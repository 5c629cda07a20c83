-- Two fused operators and their gradients: one built of existing operators, one with a kernel.
--
--   dimscope rule --check samples/gradient/fused.lua --gradient
--   dimscope plan samples/gradient/model.lua -m dp=2,tp=2 -p samples/gradient/fused.lua --train auto
--   dimscope run samples/gradient/model.lua -m dp=2,tp=2 -p samples/gradient/fused.lua --train auto --verify
--
-- A gradient that is built needs no rule for sharding: its ops are sharded as what they read is. One
-- with a kernel has the index dims of the operator: the gradient of w, which has neither b nor s, is
-- an addend where these are sharded, and the kernel sums over the rows that it gets.

local function size(part)
    local n = 1
    for _, length in ipairs(part.shape) do n = n * length end
    return n
end

-- Calls f with the index of each row and its length: rows lie along the last dim.
local function each_row(part, f)
    local rows, width = part.shape[1] * part.shape[2], part.shape[3]
    for row = 0, rows - 1 do
        f(row // part.shape[2], row % part.shape[2], row * width, width)
    end
end

-- y = silu(a) * b

local function swiglu(inputs)
    local a, b, y = inputs[1], inputs[2], {}
    each_row(a, function(i, j, at, width)
        for k = 0, width - 1 do
            local x = a:get(i, j, k)
            y[at + k + 1] = x / (1 + math.exp(-x)) * b:get(i, j, k)
        end
    end)
    return y
end

local function swiglu_gradient(model, x, y, dy)
    local function mul(a, b) return model:op("Mul", {a, b}) end
    local a, b = x[1], x[2]
    local sigmoid = model:op("Sigmoid", {a})
    local silu = mul(a, sigmoid)
    local slope = model:op("Add", {sigmoid, mul(silu, model:op("Sub", {1, sigmoid}))})
    return mul(mul(dy[1], b), slope), mul(dy[1], silu)
end

register_op("b s h, b s h -> b s h", {
    name = "my::swiglu",
    kernel = swiglu,
    gradient = swiglu_gradient,
    flops_per_point = 5,
    example = "2x3x4,2x3x4",
})

-- y = x / rms * w, rms the root of the mean of squares of a row

local function inverse_rms(x, i, j, width, epsilon)
    local sum = 0
    for k = 0, width - 1 do sum = sum + x:get(i, j, k) ^ 2 end
    return (sum / width + epsilon) ^ -0.5
end

local function rmsnorm(inputs, kwargs)
    local x, w, y = inputs[1], inputs[2], {}
    each_row(x, function(i, j, at, width)
        local r = inverse_rms(x, i, j, width, kwargs.epsilon)
        for k = 0, width - 1 do y[at + k + 1] = x:get(i, j, k) * r * w:get(k) end
    end)
    return y
end

-- With n = x / rms: dx = (dy w - n mean(dy w n)) / rms, dw = sum over rows of dy n.
local function rmsnorm_gradient(inputs, kwargs)
    local dy, x, w = inputs[1], inputs[2], inputs[3]
    local dx, dw = {}, {}
    for k = 1, size(w) do dw[k] = 0 end
    each_row(x, function(i, j, at, width)
        local r = inverse_rms(x, i, j, width, kwargs.epsilon)
        local mean = 0
        for k = 0, width - 1 do
            local d, n = dy:get(i, j, k), x:get(i, j, k) * r
            dw[k + 1] = dw[k + 1] + d * n
            mean = mean + d * w:get(k) * n / width
        end
        for k = 0, width - 1 do
            dx[at + k + 1] = (dy:get(i, j, k) * w:get(k) - x:get(i, j, k) * r * mean) * r
        end
    end)
    return {dx, dw}
end

register_op("b s d^, d^ -> b s d^", {
    name = "my::rmsnorm",
    kernel = rmsnorm,
    gradient = {"0 1: kernel(x0 x1)", kernel = rmsnorm_gradient},
    flops_per_point = 4,
    example = "2x3x4,4 epsilon=0.00001",
})

-- The batch by dp; gate and up by columns and down by rows, as Megatron-LM shards an MLP.
function PAS(graph, resource)
    graph:shard("x", {[0] = "dp"})
    graph:shard({"layers.*.gate.weight", "layers.*.up.weight"}, {[1] = "tp"})
    graph:shard("layers.*.down.weight", {[0] = "tp"})
    return graph
end
