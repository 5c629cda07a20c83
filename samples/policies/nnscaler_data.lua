-- nnscaler_data.lua: nnScaler's policy `data` (pas_data). Each node is cut along dim 0 of its first
-- input, which is the batch where the model has it there; what cannot be cut so is computed whole
-- by every device.
--
-- It takes all devices for one thing, whatever axes the mesh has.

function PAS(graph, resource)
    local n = resource.ngpus
    graph:auto_multiref()
    for _, node in ipairs(graph:nodes()) do
        local ok, subs = pcall(graph.partition, graph, node, node:algorithm("dim"),
                               {idx = 0, dim = 0, num = n})
        if not ok then subs = graph:replicate(node, n) end
        for i, sub in ipairs(subs) do graph:assign(sub, i - 1) end
    end
    return graph
end
