-- matmul_pins.lua: x by columns, w by rows.
function PAS(graph, resource)
    graph:shard("x", {[1] = "tp"})
    graph:shard("w", {[0] = "tp"})
    return graph
end
