-- brackets_model.lua: x [12, 8] as 4 heads.
function MODEL(model, config)
    local x = model:input("x", "f32", {12, 8})
    model:output(model:op("Relu", {model:op("my::heads", {x}, {h = 4})}), "y")
end
