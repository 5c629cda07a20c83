-- One device, which adds the gradients of four micro-batches up.
function PAS(graph)
    graph:schedule("1f1b", {micro_batches = 4})
    return graph
end
