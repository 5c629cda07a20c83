-- hybrid3d.lua: data, tensor and pipeline parallelism at once.
--
-- When: a model is too large for tp on one node. tp takes the fastest links, so name it last; pp the
--     slowest, so name it first, or let dp stand there.
-- What: megatron.lua's weights by tp inside each stage, pipeline.lua's stages by pp, the batch by dp
--     around both. The axes do not meet: collectives are of one stage, sends of equal coordinates of
--     dp and tp.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m pp=2,dp=2,tp=2 -p hybrid3d
--     25 all_reduce, 2 send; step 18.9 ms, moved 328.0 MiB, peak 532.4 MiB
--     1f1b of 16: 526.0 ms, bubble 14.3%
-- Axes: dp, tp, pp. Some may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Narayanan et al. 2021, Efficient Large-Scale Language Model Training, arXiv 2104.04473.

local common = include "lib/common"
local stages = include "lib/stages"
local zero = include "lib/zero"
local megatron = include "megatron"

OPTIONS = common.options{
    {"vocabulary", true, "shard the embedding and the head by vocabulary"},
    {"training", true, "false: inference, whose stages run forward alone"},
    {"micro_batches", 16, "micro-batches a step"},
    {"schedule", "auto", "auto: 1f1b, or infer_pipe without training; or any of 'help schedules'"},
    {"virtual", 1, "stages a device, which take turns: 1f1b_interleaved and others"},
    zero.options(0)
}

function PAS(graph, resource)
    local batch = zero.batch_axes(resource, {"tp", "pp"})
    common.use_axes("hybrid3d.lua", resource, {
        {"dp", "the batch stays whole"},
        {"tp", "the weights stay whole"},
        {"pp", "there is one stage"},
    }, zero.axes(resource))
    common.cut_batch(graph, batch)
    if resource.mesh.tp then
        megatron.cut_weights(graph, "hybrid3d.lua", resource, "tp")
    end
    zero.store(graph, resource)
    stages.place(graph, "pp", resource)
    common.recompute(graph, resource)
    return graph
end
