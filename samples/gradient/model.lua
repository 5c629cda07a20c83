-- Layers of the operators that fused.lua registers: normalize, project twice, gate, project back.

local LAYERS, WIDTH, HIDDEN, CLASSES = 2, 32, 64, 16

local function linear(model, name, x, from, to)
    return model:op("MatMul", {x, model:param(name .. ".weight", {from, to})})
end

local function layer(model, x)
    local y = model:op("my::rmsnorm", {x, model:param("norm.weight", {WIDTH})}, {epsilon = 1e-5})
    local gate, up = linear(model, "gate", y, WIDTH, HIDDEN), linear(model, "up", y, WIDTH, HIDDEN)
    y = linear(model, "down", model:op("my::swiglu", {gate, up}), HIDDEN, WIDTH)
    return model:op("Add", {x, y})
end

function MODEL(model, config)
    model:dims{batch = 4, seq = 8}
    local x = model:input("x", "f32", {"batch", "seq", WIDTH})
    for i = 0, LAYERS - 1 do
        x = model:module("layers." .. i, function() return layer(model, x) end)
    end
    model:output(linear(model, "head", x, WIDTH, CLASSES), "scores")
end
