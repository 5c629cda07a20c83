-- A dim out of range in line 5.
function PAS(graph, resource)
    for _, node in ipairs(graph:nodes()) do
        if node.name == "Gemm" then
            graph:partition(node, node:algorithm("dim"), {idx = 1, dim = 2, axis = "tp"})
        end
    end
    return graph
end
