-- dp.lua: data parallelism: each device has all weights and its part of the batch.
--
-- When: the model fits on one device, and the batch has something for each.
-- What: the batch dim of each input of the graph is cut by dp; all else follows, and the forward
--     pass moves nothing. With --train each gradient is summed over dp once. zero=1 stores the
--     optimizer's states in parts: a gradient is then reduced and scattered, the parameter gathered.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=8 -p dp
--     nothing moves; step 11.6 ms, moved 0 B, peak 821.3 MiB
-- Axes: dp. Others of the mesh are not used, with a note.
-- Paper: Li et al. 2020, PyTorch Distributed, arXiv 2006.15704.

local common = include "lib/common"
local zero = include "lib/zero"

OPTIONS = common.options{zero.options(0)}

SIZES = common.sizes(zero.batch_axes)

function PAS(graph, resource)
    local batch = zero.batch_axes(resource)
    common.use_axes("dp.lua", resource, {{"dp", "the batch stays whole"}}, zero.axes(resource))
    common.cut_batch(graph, batch)
    zero.store(graph, resource)
    common.schedule(graph, resource)
    common.recompute(graph, resource)
    return graph
end
