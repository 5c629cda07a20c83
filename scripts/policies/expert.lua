-- expert.lua: expert parallelism for the experts, data parallelism for all else.
--
-- When: routed experts are most of the parameters and do not fit on a device, and the batch has
--     something for each of dp * ep devices.
-- What: the batch is cut by dp and ep together: attention, norms, routers and shared experts are
--     data parallel over all devices. The routed experts, stacked in one weight, are cut by ep: a
--     device computes its experts for the tokens of all devices along ep. Each layer of experts
--     moves their queues twice, by all-to-all, to the experts and back. How long queues are is the
--     model's: --set capacity=1.25, or dropless, where --set load=balanced, worst or 3,1,.. says how
--     tokens spread over experts: the fullest device is the one all others wait for. zero=1 stores the optimizer's states in
--     parts: those of the experts by dp, all others by dp and ep.
-- Cost: ./dimscope plan samples/models/mixtral-8x7b.json -m dp=2,ep=4 -p expert
--     64 all_to_all; step 222.9 ms, moved 3.0 GiB, peak 24.7 GiB
--     dp.lua on dp=8 moves nothing, and needs 87.7 GiB.
-- Axes: dp, ep. One may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Lepikhin et al. 2020, GShard, arXiv 2006.16668; Rajbhandari et al. 2022, DeepSpeed-MoE,
--     arXiv 2201.05596.

local common = include "lib/common"
local roles = include "lib/roles"
local zero = include "lib/zero"

OPTIONS = common.options{zero.options(0)}

local function batch_axes(resource) return zero.batch_axes(resource, nil, {"ep"}) end

SIZES = common.sizes(batch_axes)

function PAS(graph, resource)
    local mesh = resource.mesh
    common.use_axes("expert.lua", resource, {
        {"dp", "experts are of one group of devices"},
        {"ep", "the experts stay whole"},
    }, zero.axes(resource))
    common.cut_batch(graph, batch_axes(resource))
    if mesh.ep and roles.shard_experts(graph, mesh.dp and {"dp"} or {}) == 0 then
        graph:warn("no matmul of stacked experts was found: ep shards the batch alone", "a mesh without ep: dp shards the batch, too", "no-experts")
    end
    zero.store(graph, resource, false, {"ep"})
    common.schedule(graph, resource)
    common.recompute(graph, resource)
    return graph
end
