-- dropout.lua: two layers with dropout. What runs again in the backward pass has to drop the same.

function MODEL(model)
    local h = model:input("x", "f32", {"batch", 16})
    local training = model:op("Cast", {1}, {to = 9}) -- bool
    for layer = 0, 1 do
        local up = model:param(("h.%d.up"):format(layer), {16, 32}, "f32")
        local down = model:param(("h.%d.down"):format(layer), {32, 16}, "f32")
        local t = model:op("Gelu", {model:op("MatMul", {h, up})})
        t = model:op("Dropout", {t, 0.25, training})
        t = model:op("Dropout", {model:op("MatMul", {t, down}), 0.25, training})
        h = model:op("Add", {h, t})
    end
    model:output(model:op("ReduceMean", {h}, {keepdims = 0}), "loss")
end
