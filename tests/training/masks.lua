-- masks.lua: dropout.lua's layers on [batch, sequence, width], and what each dropout kept is an output.
-- The element at a place is the same however the mask is sharded, and on one device.

function MODEL(model)
    local h = model:input("x", "f32", {"batch", 8, 16})
    local training = model:op("Cast", {1}, {to = 9}) -- bool
    local function mask(of, name)
        local ones = model:op("Add", {model:op("Mul", {of, 0.0}), 1.0})
        local kept = model:op("Dropout", {ones, 0.25, training})
        model:output(kept, name)
        return model:op("Mul", {of, kept})
    end
    for layer = 0, 1 do
        local up = model:param(("h.%d.up"):format(layer), {16, 32}, "f32")
        local down = model:param(("h.%d.down"):format(layer), {32, 16}, "f32")
        local t = mask(model:op("Gelu", {model:op("MatMul", {h, up})}), ("inner%d"):format(layer))
        h = model:op("Add", {h, mask(model:op("MatMul", {t, down}), ("outer%d"):format(layer))})
    end
    model:output(model:op("ReduceMean", {h}, {keepdims = 0}), "loss")
end
