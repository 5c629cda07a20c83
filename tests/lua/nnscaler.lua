-- The policy of nnScaler's documentation, in Lua: cut each MLP matmul's columns over tp's devices.
function PAS(graph, resource)
    for _, node in ipairs(graph:nodes()) do
        if node.name == "Gemm" and node.path:find("c_fc", 1, true) then
            local algo = node:algorithm("dim")
            local config = {idx = 1, dim = 1, num = resource.mesh.tp}
            if algo:satisfy(config) then
                for i, sub in ipairs(graph:partition(node, algo, config)) do
                    graph:assign(sub, i - 1)
                end
            else
                graph:replicate(node)
            end
        end
    end
    return graph
end
