-- o_proj.lua - pins the output projection of attention alone; q, k, v and their weight follow.
function PAS(graph, mesh)
    graph:shard("*o_proj.weight", {k = "tp"})
    return graph
end
