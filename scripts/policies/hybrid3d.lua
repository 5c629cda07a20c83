-- hybrid3d.lua: data, tensor and pipeline parallelism at once.
--
-- When: a model is too large for tp on one node. tp takes the fastest links, so name it last; pp the
--     slowest, so name it first, or let dp stand there.
-- What: megatron.lua's cuts by tp inside each stage, pipeline.lua's stages by pp, the batch by dp
--     around both. The axes do not meet: collectives are of one stage, sends of equal coordinates of
--     dp and tp.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m pp=2,dp=2,tp=2 -p hybrid3d
--     24 all_reduce, 2 send; step 21.8 ms, moved 316.0 MiB, peak 998.6 MiB
--     1f1b of 16: 566.9 ms, bubble 8.2%
-- Axes: dp, tp, pp. Some may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Narayanan et al. 2021, Efficient Large-Scale Language Model Training, arXiv 2104.04473.

local common = include "lib/common"
local stages = include "lib/stages"
local megatron = include "megatron"

-- As in pipeline.lua.
local TRAINING = true
local MICRO_BATCHES = 16

function PAS(graph, resource)
    common.use_axes("hybrid3d.lua", resource, {
        {"dp", "the batch stays whole"},
        {"tp", "the weights stay whole"},
        {"pp", "there is one stage"},
    })
    if resource.mesh.dp then
        common.cut_batch(graph, "dp")
    end
    if resource.mesh.tp then
        megatron.cut_weights(graph, resource.mesh.tp)
    end
    if resource.mesh.pp then
        stages.place(graph, "pp", resource.mesh.pp)
    end
    graph:schedule(TRAINING and "1f1b" or "infer_pipe", {micro_batches = MICRO_BATCHES})
    return graph
end
