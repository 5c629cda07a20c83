function PAS(graph, resource)
    graph:shard("x", {[0] = "dp"}
    return graph
end
