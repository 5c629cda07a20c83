-- nnscaler_hybrid.lua: nnScaler's policy `hybrid` (pas_hybrid). The nodes are stages of equal count;
-- in a stage each node is cut along dim 0 of its first input, or computed whole by all devices of
-- the stage. Stages take turns when there are more of them than parts of the devices.
--
--     dimscope gpt2.onnx -m pp=2,tp=2 -p samples/policies/nnscaler_hybrid.lua
--
-- Axes: stage s is on part s of the devices in mesh order, so pp comes first.

local STAGES = nil -- as many as pp, else as devices
local PARTS = nil -- parts of the devices; as many as stages
local MICRO_BATCHES = 4
local SCHEDULE = "1f1b"

-- nnScaler counts the aliases that auto_multiref makes as nodes: one behind the maker of a value with
-- several readers, or before the first reader where nobody makes it. They are `false` here.
local function with_aliases(nodes)
    local list, seen = {}, {}
    local function add_alias(tensor)
        if not tensor or seen[tensor.name] then return end
        seen[tensor.name] = true
        if #tensor:consumers() + (tensor.is_output and 1 or 0) > 1 then list[#list + 1] = false end
    end
    for _, node in ipairs(nodes) do
        for _, input in ipairs(node:inputs()) do add_alias(input) end
        list[#list + 1] = node
        for _, output in ipairs(node.out) do add_alias(output) end
    end
    return list
end

-- The first nodes of n runs of equal count; the first runs are longer by one where that is uneven.
local function divide(list, n)
    local starts, at = {}, 1
    for i = 0, n - 1 do
        local first = at
        while not list[first] do first = first + 1 end
        starts[#starts + 1] = list[first]
        at = at + #list // n + (i < #list % n and 1 or 0)
    end
    return starts
end

function PAS(graph, resource)
    local n = resource.ngpus
    local stages = STAGES or resource.mesh.pp or n
    local parts = PARTS or stages
    if stages % parts ~= 0 or n % parts ~= 0 then
        error(("%d parts for %d stages and %d devices"):format(parts, stages, n))
    end
    local width = n // parts

    graph:auto_multiref()
    graph:staging(divide(with_aliases(graph:nodes()), stages))
    for i, stage in ipairs(graph:segments()) do
        local first = (i - 1) % parts * width
        for _, node in ipairs(stage:nodes()) do
            local ok, subs = pcall(graph.partition, graph, node, node:algorithm("dim"),
                                   {idx = 0, dim = 0, num = width})
            if not ok then subs = graph:replicate(node, width) end
            for k, sub in ipairs(subs) do graph:assign(sub, first + k - 1) end
        end
    end
    graph:schedule(SCHEDULE, {micro_batches = MICRO_BATCHES})
    return graph
end
