-- placed.lua: pins in the words of DTensor.
function PAS(graph, resource)
    graph:shard("x", "[Shard(dim=1)]")
    graph:shard("w", "[Shard(dim=0)]")
    return graph
end
