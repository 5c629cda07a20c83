-- Two layers whose norms stand behind the sums, as in BERT: a norm's result is both what the next
-- matmul reads and what it is added to.
function MODEL(model)
    local function weight(name, ...) return model:param(name .. ".weight", {...}, "f32") end
    local function norm(x, name)
        return model:op("LayerNormalization", {x, weight(name, 32), model:param(name .. ".bias", {32}, "f32")},
            {axis = -1})
    end
    local x = norm(model:input("x", "f32", {8, 16, 32}), "first")
    for i = 0, 1 do
        local h = model:op("Mul", {model:op("Gelu", {model:op("MatMul", {x, weight(i .. ".gate", 32, 64)})}),
            model:op("MatMul", {x, weight(i .. ".up", 32, 64)})})
        local y = model:op("MatMul", {h, weight(i .. ".down", 64, 32)})
        x = norm(model:op("Add", {x, y}), i .. ".norm")
    end
    model:output(model:op("ReduceMean", {x}, {keepdims = 0}), "loss")
end
