-- Decides nothing itself.
function PAS(graph, resource)
    local found = graph:search{limit = "1MiB", seconds = 60}
    graph:warn(string.format("%.6f %s", found.step_ms, tostring(found.proven)))
    return graph
end
