function PAS(graph, resource)
    local node = graph:nodes()[1]
    graph:partition(node, node:algorithm("dim"), {idx = 0, dim = 1, num = 8})
    return graph
end
