-- Images in rows: a convolution reads rows of its neighbours, a halo.
function PAS(graph)
    for _, input in ipairs(graph:inputs()) do graph:shard(input, {[2] = "sp"}) end
    return graph
end
