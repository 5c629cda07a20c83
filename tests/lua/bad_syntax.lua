-- A syntax error in line 4.
function PAS(graph, resource)
    local mesh = resource.mesh
    graph shard("input_ids", {[0] = "dp"})
    return graph
end
