-- Registers the op that other_dialect.mlir has of another dialect, and shards by its rule.
register_op("m k+, k+ n -> m n", {name = "tt.dot", kernel = "MatMul", example = "4x6,6x8"})

function PAS(graph, resource)
    graph:shard("%arg1", {[1] = "tp"})
    return graph
end
