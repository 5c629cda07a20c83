-- emitted.lua: an export imports the operator from a module of the user.
register_op("m k+, k+ n -> m n", {name = "my::mm", kernel = "MatMul", python = "custom_ops.mm",
    code_impl_pattern = "source", emit_fn = "custom_ops.emit_mm"})

function PAS(graph, resource)
    for _, node in ipairs(graph:nodes()) do
        graph:partition(node, node:algorithm("dim"), {idx = 0, dim = 1, num = resource.ngpus})
    end
    return graph
end
