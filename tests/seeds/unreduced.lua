-- unreduced.lua: the same, and the output stays a sum of parts.
register_op("m k+, k+ n -> m n", {name = "my::mm", kernel = "MatMul"})

function PAS(graph, resource)
    graph:shard("x", {[1] = "tp"})
    graph:shard("w", {[0] = "tp"})
    graph:unreduced("y", "tp")
    return graph
end
