function PAS(graph, resource)
    graph:shard("*.q_proj.weight", {[0] = "tp"})
    return graph
end
