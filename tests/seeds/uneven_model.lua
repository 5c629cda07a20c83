-- uneven_model.lua: a tensor of 13 by 8.
function MODEL(model, config)
    model:output(model:op("Relu", {model:input("x", "f32", {13, 8})}), "y")
end
