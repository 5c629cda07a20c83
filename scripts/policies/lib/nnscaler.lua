-- lib/nnscaler.lua: what nnScaler's own policies share (samples/policies/nnscaler_*.lua).

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

-- The first nodes of n stages of equal count; the first stages are longer by one where that is uneven.
local function stage_starts(graph, n)
    local list = with_aliases(graph:nodes())
    local starts, at = {}, 1
    for i = 0, n - 1 do
        local first = at
        while not list[first] do first = first + 1 end
        starts[#starts + 1] = list[first]
        at = at + #list // n + (i < #list % n and 1 or 0)
    end
    return starts
end

-- The sub-nodes of a node cut along dim 0 of its first input, else, where it cannot be cut so, of one
-- that is replicated.
local function cut_batch(graph, node, num)
    local ok, subs = pcall(graph.partition, graph, node, node:algorithm("dim"),
                           {idx = 0, dim = 0, num = num})
    return ok and subs or graph:replicate(node, num)
end

return {stage_starts = stage_starts, cut_batch = cut_batch}
