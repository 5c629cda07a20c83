-- moe_papers.lua: mixtures of experts as their papers run them: stages by pp, experts by ep, nothing
-- by tensor parallelism, the states of the optimizer in parts (ZeRO-1).
--
--     dimscope samples/models/deepseek-v3.json -m pp=16,dp=2,ep=64 -p samples/policies/moe_papers.lua
--         --train adamw --set capacity=dropless --dim seq=4096
--     dimscope samples/models/mixtral-8x7b.json -m ep=8 -p samples/policies/moe_papers.lua
--         --set capacity=dropless
--
-- DeepSeek-V3 (DeepSeek-AI 2024, arXiv 2412.19437, section 3.2): 2048 devices as 16 stages, experts
-- by 64 over 8 nodes, ZeRO-1; no token is dropped. A device has two stages, one of each end, and
-- each stage is there twice (dualpipe). What the paper computes again (norms, up projections) is its
-- memory plan's; recompute=full is what fits without it.
-- Mixtral (Jiang et al. 2024, arXiv 2401.04088, section 2.1): experts by themselves on devices, and
-- no token dropped, by MegaBlocks' kernels (Gale et al. 2022, arXiv 2211.15841).
-- The same with tensor parallelism inside of experts: hybrid3d on dp, tp and ep.

local common = include "lib/common"
local roles = include "lib/roles"
local stages = include "lib/stages"
local zero = include "lib/zero"

OPTIONS = common.options{
    {"micro_batch", 1, "samples of a micro-batch on each rank of the batch"},
    {"micro_batches", 32, "micro-batches a step"},
    {"schedule", "dualpipe", "auto: 1f1b, or infer_pipe without training; or any of 'help schedules'"},
    {"virtual", 2, "stages a device"},
    {"training", true, "false: inference, whose stages run forward alone"},
    {"balance", "layers", "what stages have equally much of: layers, or flops"},
    {"stage_layers", "", "layers of each stage, as in 7,8x14,6; empty: as balance says"},
    {"recompute", "full", "what runs again in the backward pass: none, full, selective, or modules"},
    zero.options(1)
}

local function batch_axes(resource)
    return stages.with_copies(zero.batch_axes(resource, {"pp"}, {"ep"}), "pp", resource)
end

SIZES = common.sizes(batch_axes)

function PAS(graph, resource)
    local mesh = resource.mesh
    common.use_axes("moe_papers.lua", resource, {{"ep", "the experts stay whole"}},
        {"pp", "dp", table.unpack((zero.axes(resource)))})
    common.cut_batch(graph, batch_axes(resource))
    local others = stages.with_copies(mesh.dp and {"dp"} or {}, "pp", resource)
    if mesh.ep and roles.shard_experts(graph, others) == 0 then
        print("no matmul of stacked experts was found: ep shards the batch alone")
    end
    zero.store(graph, resource, nil, {"ep"})
    if mesh.pp then stages.place(graph, "pp", resource) end
    if resource.trains then common.recompute(graph, resource, true) end
    return graph
end
