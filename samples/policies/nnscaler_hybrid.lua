-- nnscaler_hybrid.lua: nnScaler's policy `hybrid` (pas_hybrid). The nodes are stages of equal count;
-- in a stage each node is cut along dim 0 of its first input, or computed whole by all devices of
-- the stage. Stages take turns when there are more of them than parts of the devices.
--
--     dimscope gpt2.onnx -m pp=2,tp=2 -p samples/policies/nnscaler_hybrid.lua
--
-- Axes: stage s is on part s of the devices in mesh order, so pp comes first.

local nnscaler = include "lib/nnscaler"

local STAGES = nil -- as many as pp, else as devices
local PARTS = nil -- parts of the devices; as many as stages
local MICRO_BATCHES = 4
local SCHEDULE = "1f1b"

function PAS(graph, resource)
    local n = resource.ngpus
    local stages = STAGES or resource.mesh.pp or n
    local parts = PARTS or stages
    if stages % parts ~= 0 or n % parts ~= 0 then
        error(("%d parts for %d stages and %d devices"):format(parts, stages, n))
    end
    local width = n // parts

    graph:auto_multiref()
    graph:staging(nnscaler.stage_starts(graph, stages))
    for i, stage in ipairs(graph:segments()) do
        local first = (i - 1) % parts * width
        for _, node in ipairs(stage:nodes()) do
            for k, sub in ipairs(nnscaler.cut_batch(graph, node, width)) do
                graph:assign(sub, first + k - 1)
            end
        end
    end
    graph:schedule(SCHEDULE, {micro_batches = MICRO_BATCHES})
    return graph
end
