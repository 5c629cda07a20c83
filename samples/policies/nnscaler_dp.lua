-- nnscaler_dp.lua: nnScaler's policy `dp` (pas_dp). Every node runs whole on the one device of its
-- scale unit; units are the axis dp, and each has its part of the batch.
--
-- What nnScaler does between scale units is not in its plan; here it is the cut of the inputs.
-- Axes: dp. Refused: a unit of several devices.

function PAS(graph, resource)
    local units = resource.mesh.dp or 1
    if resource.ngpus ~= units then error("dp takes one device a scale unit: -m dp=N") end
    for _, input in ipairs(graph:inputs()) do
        if units > 1 and input.shape[1] and input.shape[1] > 1 then
            graph:shard(input, {[0] = "dp"})
        end
    end
    if units > 1 then return graph end
    for _, node in ipairs(graph:select{ntype = "IRFwOperation"}) do
        graph:assign(graph:replicate(node, 1)[1], 0)
    end
    return graph
end
