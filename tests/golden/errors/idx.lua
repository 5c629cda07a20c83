function PAS(graph, resource)
    local node = graph:nodes()[1]
    for _, sub in ipairs(graph:partition(node, node:algorithm("dim"), {idx = 7, dim = 0, num = 2})) do
        graph:assign(sub, 0)
    end
    return graph
end
