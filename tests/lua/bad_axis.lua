-- An axis that the mesh does not have, in line 4.
function PAS(graph, resource)
    graph:shard("input_ids", {[0] = "dp"})
    graph:shard("*.c_fc.weight", {n = "pp"})
    return graph
end
