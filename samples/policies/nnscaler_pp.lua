-- nnscaler_pp.lua: nnScaler's policy `pp` (pas_pp). As many stages as devices, of equal count of
-- nodes, each on one device, worked through by 1F1B.

local nnscaler = include "lib/nnscaler"

local MICRO_BATCHES = 4

function PAS(graph, resource)
    graph:auto_multiref()
    graph:staging(nnscaler.stage_starts(graph, resource.ngpus))
    for i, stage in ipairs(graph:segments()) do graph:assign(stage, i - 1) end
    graph:schedule("1f1b", {micro_batches = MICRO_BATCHES})
    return graph
end
