-- Rows of the image by sp.
function PAS(graph)
    graph:shard("x", {[2] = "sp"})
    return graph
end
