function PAS(graph, resource)
    graph:shard("x", {[0] = "dq"})
    return graph
end
