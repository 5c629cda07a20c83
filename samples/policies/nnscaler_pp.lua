-- nnscaler_pp.lua: nnScaler's policy `pp` (pas_pp). As many stages as devices, of equal count of
-- nodes, each on one device, worked through by 1F1B.

local MICRO_BATCHES = 4

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
    graph:auto_multiref()
    graph:staging(divide(with_aliases(graph:nodes()), resource.ngpus))
    for i, stage in ipairs(graph:segments()) do graph:assign(stage, i - 1) end
    graph:schedule("1f1b", {micro_batches = MICRO_BATCHES})
    return graph
end
