-- constant_model.lua: x [12, 8] times a constant m [8, 16].
function MODEL(model, config)
    local elements = {}
    for i = 1, 8 * 16 do
        elements[i] = i / 100
    end
    local x = model:input("x", "f32", {12, 8})
    model:output(model:op("MatMul", {x, model:constant("m", "f32", {8, 16}, elements)}), "y")
end
