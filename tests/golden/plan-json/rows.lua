-- Cuts the columns of the input: a small plan to save and open again.
function PAS(graph, resource)
    graph:shard("x", {[1] = "tp"})
    return graph
end
