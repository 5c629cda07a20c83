-- expert.lua: expert parallelism (GShard, Lepikhin et al. 2020; DeepSpeed-MoE, Rajbhandari et al.
-- 2022), with data parallelism for all that is no expert.
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
-- Axes: dp, ep. dp may be missing; others of the mesh are not used, with a note.

-- The dim that the model calls batch, else the first one; nil for a scalar.
local function batch_dim(tensor)
    for i, name in ipairs(tensor.dim_names) do
        if name:find("batch", 1, true) then return i - 1 end
    end
    if #tensor.shape > 0 then return 0 end
end

local function cut_batch(graph, axes)
    for _, input in ipairs(graph:inputs()) do
        local dim = batch_dim(input)
        if dim and input.shape[dim + 1] > 1 then
            graph:shard(input, {[dim] = axes})
        elseif dim then
            print(input.label .. " has a batch of 1: it stays whole")
        end
    end
end

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
    local mesh, axes = resource.mesh, {}
    if not mesh.ep then
        error("expert.lua cuts by an axis named ep, and the mesh has none")
    end
    for _, axis in ipairs(mesh) do
        if axis.name == "dp" or axis.name == "ep" then
            axes[#axes + 1] = axis.name
        else
            print("expert.lua does not use the axis " .. axis.name)
        end
    end
    cut_batch(graph, axes)
    if cut_experts(graph, mesh.dp) == 0 then
        print("no stacked experts (*.experts.*, an Einsum): ep cuts the batch alone")
    end
    return graph
end
