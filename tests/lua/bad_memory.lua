-- Asks for 10 GB in line 4.
function PAS(graph, resource)
    local text = "x"
    text = text:rep(10000000000)
    return graph
end
