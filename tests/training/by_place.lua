-- by_place.lua: the input x by the axes b, s and h of the mesh, a dim each.

function PAS(graph, resource)
    local cuts = {}
    for dim, name in ipairs{"b", "s", "h"} do
        if resource.mesh[name] then cuts[dim - 1] = name end
    end
    graph:shard("x", cuts)
    return graph
end
