-- Four layers of one weight, as ALBERT's; its transpose is the head. Each stage of a pipeline reads
-- the weight.
function MODEL(model)
    model:dims{batch = 4}
    local x = model:input("x", "f32", {"batch", 8})
    local w = model:param("w", {8, 8})
    for i = 0, 3 do
        model:module("layers." .. i, function()
            local y = model:op("Tanh", {model:op("MatMul", {x, w})})
            x = model:op("Tanh", {model:op("MatMul", {y, w})})
        end)
    end
    model:output(model:op("MatMul", {x, model:op("Transpose", {w}, {perm = {1, 0}})}), "logits")
end
