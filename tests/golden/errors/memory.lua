function PAS(graph, resource)
    local text = string.rep("x", 10 * 1024 * 1024 * 1024)
    return graph
end
