-- Four layers of one weight and a head, which has another name for it: of the op that the program has
-- first, and that belongs to the last stage.
function MODEL(model)
    model:dims{batch = 4}
    local x = model:input("x", "f32", {"batch", 8})
    local w = model:param("w", {8, 8})
    local alias = model:op("Identity", {w})
    for i = 0, 3 do
        model:module("layers." .. i, function()
            x = model:op("Tanh", {model:op("MatMul", {x, w})})
        end)
    end
    model:output(model:op("MatMul", {x, alias}), "logits")
end
