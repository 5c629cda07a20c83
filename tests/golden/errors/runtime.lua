local function cut(graph, node)
    graph:partition(node.nothing.here, "dim", {idx = 0, dim = 0, num = 2})
end

function PAS(graph, resource)
    for _, node in ipairs(graph:nodes()) do cut(graph, node) end
    return graph
end
