-- nnscaler_data.lua: nnScaler's policy `data` (pas_data). Each node is cut along dim 0 of its first
-- input, which is the batch where the model has it there; what cannot be cut so is computed whole
-- by every device.
--
-- It takes all devices for one thing, whatever axes the mesh has.

local nnscaler = include "lib/nnscaler"

function PAS(graph, resource)
    local n = resource.ngpus
    graph:auto_multiref()
    for _, node in ipairs(graph:nodes()) do
        for i, sub in ipairs(nnscaler.cut_batch(graph, node, n)) do graph:assign(sub, i - 1) end
    end
    return graph
end
