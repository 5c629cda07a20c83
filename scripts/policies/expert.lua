-- expert.lua: expert parallelism, and data parallelism for all that is no expert.
--
-- What: the batch is cut by dp and ep together, so attention, norms, routers and shared experts are
--     data parallel over all devices. The routed experts, stacked in one weight, are cut by ep: a
--     device computes its experts for the tokens of all devices along ep. Where tokens go to experts
--     and back, each layer of experts moves its queues twice, by all-to-all. The queues' length is
--     the model's: scripts/models/lib/moe.lua.
-- When: the experts are most of the parameters and do not fit on a device, and there are many more
--     tokens than experts. The batch should be a multiple of dp * ep, the experts of ep.
-- Cost: samples/models/mixtral-8x7b.json, batch 8, seq 4096, on dp=2,ep=4 of h100x8: 64 all-to-alls
--     of 64.0 MiB a device, 10.1 ms of a step of 363 ms; 24.0 GiB of parameters a device, where
--     dp.lua needs 87.0 GiB, which does not fit.
-- Axes: dp, ep. One may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Lepikhin et al. 2020, GShard, arXiv 2006.16668; Rajbhandari et al. 2022, DeepSpeed-MoE,
--     arXiv 2201.05596.

local common = include "lib/common"

-- Each matmul of stacked experts, [b, e, c, k] by [e, n, k]: queues of tokens of the batch by dp,
-- all of the experts' share by ep.
local function cut_experts(graph, dp)
    local n_cut = 0
    for _, node in ipairs(graph:nodes()) do
        if node.name == "Einsum" and node.path:find("%.experts%.") and node:input(1).is_param then
            graph:pin(node, {b = dp and "dp" or {}, e = "ep"})
            n_cut = n_cut + 1
        end
    end
    return n_cut
end

function PAS(graph, resource)
    common.use_axes("expert.lua", resource, {
        {"dp", "ep cuts the batch alone"},
        {"ep", "the experts stay whole"},
    })
    local axes = {}
    for _, axis in ipairs(resource.mesh) do
        if axis.name == "dp" or axis.name == "ep" then axes[#axes + 1] = axis.name end
    end
    common.cut_batch(graph, axes)
    if resource.mesh.ep and cut_experts(graph, resource.mesh.dp) == 0 then
        print("no stacked experts (*.experts.*, an Einsum): ep cuts the batch alone")
    end
    return graph
end
