-- fsdp.lua: fully sharded data parallelism (ZeRO-3): dp, and weights lie in parts.
--
-- When: the batch is large enough for dp, but parameters do not fit on one device.
-- What: the batch dim of each input by dp, as dp.lua. Each parameter lies in rows by dp (by its next
--     dim where dp is more than its rows) and is gathered once, where an op reads it. `store = true`
--     says where it lies, not how it is used, so that its rows do not meet the batch in the matmul.
--     What may be gathered while another op runs shows in the line 'overlap' of the plan.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=8 -p fsdp
--     149 all_gather; step 13.0 ms, moved 544.2 MiB, peak 424.3 MiB
-- Axes: dp. Others of the mesh are not used, with a note.
-- Paper: Rajbhandari et al. 2020, ZeRO, arXiv 1910.02054; Zhao et al. 2023, arXiv 2304.11277.

local common = include "lib/common"

OPTIONS = common.options{}

function PAS(graph, resource)
    common.use_axes("fsdp.lua", resource, {{"dp", "batch and parameters stay whole"}})
    common.cut_batch(graph, "dp")
    for _, parameter in ipairs(graph:params()) do
        local dim = common.first_dim_of(parameter, resource.mesh.dp)
        if dim then
            graph:shard(parameter, {[dim] = {axis = "dp", store = true}})
        end
    end
    common.recompute(graph, resource)
    return graph
end
