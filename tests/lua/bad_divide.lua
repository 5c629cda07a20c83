-- 3 x 64 does not divide by 8 x 16, in line 6: partition wants equal parts, as nnScaler does.
function PAS(graph, resource)
    for _, node in ipairs(graph:nodes()) do
        if node.path:find("c_attn", 1, true) and node.name == "Gemm" then
            local algo = node:algorithm("dim")
            graph:partition(node, algo, {idx = 1, dim = 1, num = 5})
        end
    end
    return graph
end
