-- hybrid3d.lua: data, tensor and pipeline parallelism at once.
--
-- When: a model is too large for tp on one node. tp takes the fastest links, so name it last; pp the
--     slowest, so name it first, or let dp stand there.
-- What: megatron.lua's weights by tp inside each stage, pipeline.lua's stages by pp, the batch by dp
--     around both. The axes do not meet: collectives are of one stage, sends of equal coordinates of
--     dp and tp. cp shards the sequence too, ep the experts and, beside dp, the batch.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m pp=2,dp=2,tp=2 -p hybrid3d
--     25 all_reduce, 2 send; step 21.3 ms, moved 328.0 MiB, peak 559.4 MiB
--     1f1b of 16: 604.9 ms, bubble 16.0%
-- Axes: dp, tp, pp, cp, ep. Some may be missing, with a note for the first three; others of the mesh
--     are not used, with a note.
-- Paper: Narayanan et al. 2021, Efficient Large-Scale Language Model Training, arXiv 2104.04473.

local common = include "lib/common"
local roles = include "lib/roles"
local stages = include "lib/stages"
local zero = include "lib/zero"
local megatron = include "megatron"

OPTIONS = common.options{
    {"cut_vocabulary", true, "shard the embedding and the head by vocabulary"},
    roles.one_sum,
    {"sequence_parallel", false, "shard the sequence by tp between the sharded matmuls"},
    {"keep_gathered", false, "keep what is gathered along the sequence for the backward pass"},
    {"training", true, "false: inference, whose stages run forward alone"},
    {"micro_batches", 16, "micro-batches a step"},
    {"schedule", "auto", "auto: 1f1b, or infer_pipe without training; or any of 'help schedules'"},
    {"virtual", 1, "stages a device, which take turns: 1f1b_interleaved and others"},
    {"balance", "layers", "what stages have equally much of: layers, or flops"},
    {"stage_layers", "", "layers of each stage, as in 7,8x14,6; empty: as balance says"},
    zero.options(0)
}

local function batch_axes(resource)
    return stages.with_copies(zero.batch_axes(resource, {"tp", "pp", "cp"}, {"ep"}), "pp", resource)
end

SIZES = common.sizes(batch_axes)

-- The sequence by cp everywhere, and by tp too between the matmuls that tp shards.
local function cut_sequence(graph, resource)
    local axes = {}
    if resource.mesh.cp then roles.cut_cache(graph, "cp") end
    if resource.mesh.cp then axes[1] = "cp" end
    if resource.mesh.tp and resource.options.sequence_parallel then axes[#axes + 1] = "tp" end
    if #axes > 0 and roles.cut_sequence(graph, axes, resource.options.keep_gathered) and resource.mesh.cp then
        roles.gather_few_heads(graph)
    end
end

function PAS(graph, resource)
    local mesh, batch = resource.mesh, batch_axes(resource)
    common.use_axes("hybrid3d.lua", resource, {
        {"dp", #batch == 0 and "the batch stays whole" or nil},
        {"tp", "the weights stay whole"},
        {"pp", "there is one stage"},
    }, {"cp", "ep", table.unpack((zero.axes(resource)))})
    common.cut_batch(graph, batch)
    if mesh.tp then megatron.cut_weights(graph, "hybrid3d.lua", resource, "tp", resource.options.one_sum) end
    local others = stages.with_copies(mesh.dp and {"dp"} or {}, "pp", resource)
    if mesh.ep and roles.shard_experts(graph, others) == 0 then
        graph:warn("no matmul of stacked experts was found: ep shards the batch alone", "a mesh without ep: dp shards the batch, too", "no-experts")
    end
    cut_sequence(graph, resource)
    zero.store(graph, resource, nil, {"cp", "ep"})
    stages.place(graph, "pp", resource)
    common.recompute(graph, resource, true)
    return graph
end
