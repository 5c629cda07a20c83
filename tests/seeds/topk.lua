-- topk.lua: the dim along which the largest are sought is sharded.
function PAS(graph, resource)
    graph:shard("x", "[S(1)]")
    return graph
end
