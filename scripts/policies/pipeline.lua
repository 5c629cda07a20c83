-- pipeline.lua: pipeline parallelism: layers in stages, each on its part of the devices.
--
-- When: layers do not fit on one device, and the links between devices are slow: what moves is one
--     value of the residual stream a stage and micro-batch.
-- What: runs of whole layers, what is before the first and after the last as one more each, become
--     as many stages as pp has devices, so that the one with most operations has as few as can be.
--     Where memory sets the pace and not operations, the finding 'unbalanced' says how far that is
--     off. What stages share, as a mask, is handed on from stage to stage. The model is one
--     micro-batch; a step runs micro_batches of them in the order of 1F1B, or, without training,
--     forward alone. A backward slot counts twice its forward. More micro-batches leave less idle
--     time: (pp - 1) / (micro_batches + pp - 1) of a step where stages take equally long.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=2,pp=4 -p pipeline
--     5 send; step 37.7 ms, moved 68.0 MiB, peak 944.5 MiB
--     1f1b of 16: 577.4 ms, bubble 22.1%
-- Axes: dp, pp. One may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Huang et al. 2019, GPipe, arXiv 1811.06965; Harlap et al. 2018, PipeDream, arXiv 1806.03377.

local common = include "lib/common"
local stages = include "lib/stages"
local zero = include "lib/zero"

OPTIONS = common.options{
    {"training", true, "false: inference, whose stages run forward alone"},
    {"micro_batches", 16, "micro-batches a step"},
    {"schedule", "auto", "auto: 1f1b, or infer_pipe without training; or any of 'help schedules'"},
    {"virtual", 1, "stages a device, which take turns: 1f1b_interleaved and others"},
    {"balance", "flops", "what stages have equally much of: layers, or flops"},
    {"stage_layers", "", "layers of each stage, as in 7,8x14,6; empty: as balance says"},
    zero.options(0),
}

local function batch_axes(resource)
    return stages.with_copies(zero.batch_axes(resource, {"pp"}), "pp", resource)
end

SIZES = common.sizes(batch_axes)

function PAS(graph, resource)
    local batch = batch_axes(resource)
    common.use_axes("pipeline.lua", resource, {
        {"dp", #batch == 0 and "the batch stays whole" or nil},
        {"pp", "there is one stage"},
    }, zero.axes(resource))
    common.cut_batch(graph, batch)
    stages.place(graph, "pp", resource)
    zero.store(graph, resource)
    common.recompute(graph, resource)
    return graph
end
