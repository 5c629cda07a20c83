-- Fails in line 3, called from line 8.
local function cut(node)
    return node.cuts.first
end

function PAS(graph, resource)
    for _, node in ipairs({{}}) do
        cut(node)
    end
    return graph
end
