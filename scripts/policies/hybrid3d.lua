local common = include "lib/common"
local roles = include "lib/roles"
local stages = include "lib/stages"
local zero = include "lib/zero"
local megatron = include "megatron"

OPTIONS = common.options{
    {"cut_vocabulary", true, "shard the embedding and the head by vocabulary"},
    {"sequence_parallel", false, "shard the sequence by tp between the sharded matmuls"},
    {"training", true, "false: inference, whose stages run forward alone"},
    {"micro_batches", 16, "micro-batches a step"},
    {"schedule", "auto", "auto: 1f1b, or infer_pipe without training; or any of 'help schedules'"},
    {"virtual", 1, "stages a device, which take turns: 1f1b_interleaved and others"},
    {"balance", "layers", "what stages have equally much of: layers, or flops"},
    zero.options(0)
}

local function batch_axes(resource) return zero.batch_axes(resource, {"tp", "pp", "cp"}, {"ep"}) end

SIZES = common.sizes(batch_axes)

-- The sequence by cp everywhere, and by tp too between the matmuls that tp shards.
local function cut_sequence(graph, resource)
    local axes = {}
    if resource.mesh.cp then axes[1] = "cp" end
    if resource.mesh.tp and resource.options.sequence_parallel then axes[#axes + 1] = "tp" end
    if #axes > 0 and roles.cut_sequence(graph, axes) and resource.mesh.cp then
        roles.gather_few_heads(graph)
    end
end

function PAS(graph, resource)
    local mesh, batch = resource.mesh, batch_axes(resource)
    common.use_axes("hybrid3d.lua", resource, {
        {"dp", "the batch stays whole"},
        {"tp", "the weights stay whole"},
        {"pp", "there is one stage"},
    }, {"cp", "ep", table.unpack((zero.axes(resource)))})
    common.cut_batch(graph, batch)
    if mesh.tp then megatron.cut_weights(graph, "hybrid3d.lua", resource, "tp") end
    if mesh.ep and roles.shard_experts(graph, mesh.dp and {"dp"} or {}) == 0 then
        print("no matmul of stacked experts was found: ep shards the batch alone")
    end
    cut_sequence(graph, resource)
    zero.store(graph, resource, nil, {"cp", "ep"})
    stages.place(graph, "pp", resource)
    common.recompute(graph, resource, true)
    return graph
end
