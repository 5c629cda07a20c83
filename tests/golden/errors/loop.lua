function PAS(graph, resource)
    while true do end
end
