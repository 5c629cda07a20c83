function PAS(graph, resource)
    local node = graph:nodes()[1]
    graph:partition(node, node:algorithm("dim"), {idx = 0, dim = 5, num = 2})
    return graph
end
