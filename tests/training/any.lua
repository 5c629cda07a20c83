-- any.lua: a plan drawn by a number: parameters, inputs, values and ops are sharded by axes that a
-- generator of random numbers picks; stages, ZeRO and what runs again are drawn too. What the rules
-- refuse is left out. tests/training/plans.py compares the gradients of such plans with torch's.
local stages = include "lib/stages"

OPTIONS = {
    {"draw", 1, "the plan's number"},
    {"schedule", "auto", "in which order micro-batches run"},
    {"micro_batches", 1, "micro-batches a step"},
    {"training", true, "for lib/stages"},
    {"virtual", 1, "stages a device"},
    {"balance", "layers", "what stages have equally much of"},
    {"stage_layers", "", "layers of each stage"},
    {"overlap", "none", "under which pass parameters move"},
}

function PAS(graph, resource)
    local state = resource.options.draw * 7919 + 17
    local function draw(n) -- 1 .. n
        state = (state * 1103515245 + 12345) % 2147483648
        return (state >> 8) % n + 1
    end
    local axes = {}
    for _, axis in ipairs(resource.mesh) do
        if axis.name ~= "pp" and axis.size > 1 then axes[#axes + 1] = axis.name end
    end
    local function shard(what, n_dims)
        local dim = draw(n_dims)
        local axis = axes[draw(#axes)]
        pcall(graph.shard, graph, what, {[dim - 1] = axis})
    end
    local function some(list, n)
        for _ = 1, n do
            local it = list[draw(#list)]
            if #it.shape > 0 then shard(it, #it.shape) end
        end
    end
    if #axes > 0 then
        some(graph:inputs(), draw(2) - 1)
        some(graph:params(), draw(6))
        some(graph:tensors("*"), draw(6))
        local nodes = graph:nodes()
        for _ = 1, draw(6) do
            local node = nodes[draw(#nodes)]
            if #node.dims > 0 then
                pcall(graph.shard, graph, node,
                    {[node.dims[draw(#node.dims)].name] = axes[draw(#axes)]})
            end
        end
        local level = draw(6)
        if level <= 3 then
            graph:zero(level, axes[draw(#axes)], level == 3 and {keep = draw(2) == 1} or nil)
        end
    end
    if resource.mesh.pp then stages.place(graph, "pp", resource) end
    if draw(3) == 1 then pcall(graph.recompute, graph, draw(2) == 1 and "full" or "selective") end
    return graph
end
