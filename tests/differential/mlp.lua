-- mlp.lua: a norm and an MLP, as part_spmd.py has them in code with collectives of its own.

function MODEL(model)
    local x = model:input("x", "f32", {8, 16, 32})
    local up, down
    model:module("norm", function()
        x = model:op("LayerNormalization", {x, model:param("weight", {32})})
    end)
    model:module("up", function() up = model:op("MatMul", {x, model:param("weight", {32, 64})}) end)
    up = model:op("Relu", {up})
    model:module("down", function()
        down = model:op("MatMul", {up, model:param("weight", {64, 32})})
    end)
    model:output(model:op("Add", {x, down}), "y")
end

function PAS(graph)
    graph:shard("x", {[0] = "dp"})
    graph:pin("up.weight", {[1] = "tp"})
    graph:pin("down.weight", {[0] = "tp"})
    return graph
end
