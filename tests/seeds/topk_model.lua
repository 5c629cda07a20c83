-- topk_model.lua: the 4 largest of each row of x [8, 16].
function MODEL(model, config)
    local x = model:input("x", "f32", {8, 16})
    local values, indices = model:op("TopK", {x, {4}}, {axis = -1}, 2)
    model:output(values, "values")
    model:output(indices, "indices")
end
