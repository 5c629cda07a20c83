-- Four layers that scale by one value made of a weight, as all layers of MPNet read one bias of positions:
-- one stage makes it, others read it forward and backward, and their gradients of it are summed for each
-- micro-batch.
function MODEL(model)
    model:dims{batch = 4}
    local x = model:input("x", "f32", {"batch", 8})
    local made = model:op("Tanh", {model:param("b", {1, 8})})
    for i = 0, 3 do
        model:module("layers." .. i, function()
            x = model:op("Tanh", {model:op("MatMul", {x, model:param("w", {8, 8})})})
            x = model:op("Mul", {x, made})
        end)
    end
    model:output(model:op("MatMul", {x, model:param("head", {8, 8})}), "logits")
end
