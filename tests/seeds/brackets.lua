-- brackets.lua: an operator whose input dim is split in two, without rules of its own.
register_op("(h t) k -> h t k", {name = "my::heads"})

function PAS(graph, resource)
    graph:shard("x", {[0] = "tp"})
    return graph
end
