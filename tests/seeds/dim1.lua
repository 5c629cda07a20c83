-- dim1.lua: the partition of the document: idx 0, dim 1, over all devices.
register_op("m k+, k+ n -> m n", {name = "my::mm", kernel = "MatMul"})

function PAS(graph, resource)
    for _, node in ipairs(graph:nodes()) do
        if node.signature == "my::mm" or node.name == "my::mm" then
            local algo = node:algorithm("dim")
            graph:partition(node, algo, {idx = 0, dim = 1, num = resource.ngpus})
        end
    end
    return graph
end
