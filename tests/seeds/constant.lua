-- constant.lua: the columns of a constant are pinned.
function PAS(graph, resource)
    graph:shard("m", "[Shard(1)]")
    return graph
end
