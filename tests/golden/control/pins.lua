-- The loop's matmuls are cut by tp: a sum in each iteration.
function PAS(graph, resource)
    graph:shard("w1", {[1] = "tp"})
    graph:shard("w2", {[0] = "tp"})
    return graph
end
