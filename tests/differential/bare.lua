-- bare.lua: a sharded parameter of the model itself, which no module inside of it owns.

function MODEL(model)
    local x = model:op("MatMul", {model:input("x", "f32", {8, 16}), model:param("w", {16, 32})})
    model:module("down", function()
        x = model:op("MatMul", {x, model:param("weight", {32, 16})})
    end)
    model:output(x, "y")
end

function PAS(graph)
    graph:pin("w", {[1] = "tp"})
    graph:pin("down.weight", {[0] = "tp"})
    return graph
end
