-- bias_model.lua: x [12, 8] times w [8, 16] and b [16] by one operator, my::linear.
function MODEL(model, config)
    local x = model:input("x", "f32", {12, 8})
    local w = model:param("w", {8, 16})
    local b = model:param("b", {16})
    model:output(model:op("my::linear", {x, w, b}), "y")
end
