-- matmul.lua: a matrix product registered by its annotation alone; k is sharded by tp.
register_op("m k+, k+ n -> m n", {name = "my::mm", kernel = "MatMul"})

function PAS(graph, resource)
    graph:shard("x", {[1] = "tp"})
    graph:shard("w", {[0] = "tp"})
    return graph
end
