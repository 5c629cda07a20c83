-- lib/zero.lua: the options zero and zero_axis of policies. What a training step keeps of the
-- parameters (states of the optimizer, gradients, the parameters themselves) is stored sharded.

-- Two rows of OPTIONS; level: the value of `zero` that holds by default.
local function options(level)
    return {"zero", level, "ZeRO: 1 stores optimizer states sharded, 2 gradients, 3 parameters too"},
        {"zero_axis", "dp", "the axes that zero shards by: dp, or several as dp,sh"}
end

-- The axes of zero_axis that the mesh has, if `zero` asks for any; then those that it lacks.
local function axes(resource)
    local found, missing = {}, {}
    for name in resource.options.zero_axis:gmatch("[^,%s]+") do
        local list = resource.mesh[name] and found or missing
        list[#list + 1] = resource.options.zero ~= 0 and name or nil
    end
    return found, missing
end

-- What shards the batch: dp, then `more`, then the axes of zero, of those that the mesh has; but for
-- those in `others`.
local function batch_axes(resource, others, more)
    local found, seen, names = {}, {}, {"dp"}
    for _, name in ipairs(others or {}) do seen[name] = true end
    for _, name in ipairs(more or {}) do names[#names + 1] = name end
    for _, name in ipairs((axes(resource))) do names[#names + 1] = name end
    for _, name in ipairs(names) do
        if resource.mesh[name] and not seen[name] then
            found[#found + 1], seen[name] = name, true
        end
    end
    return found
end

-- Stores what the options ask for; keep: parameters that were gathered stay so. more: axes that
-- shard a parameter's states too, where the mesh has them and the parameter is equal along them.
local function store(graph, resource, keep, more)
    local found, missing = axes(resource)
    for _, name in ipairs(missing) do
        print(("no axis %s: zero=%d shards nothing by it"):format(name, resource.options.zero))
    end
    for _, name in ipairs(more or {}) do
        if resource.mesh[name] and resource.options.zero > 0 then found[#found + 1] = name end
    end
    local parts = 1
    for _, name in ipairs(found) do parts = parts * resource.mesh[name] end
    if parts > 1 then graph:zero(resource.options.zero, found, keep and {keep = true} or nil) end
end

return {options = options, axes = axes, batch_axes = batch_axes, store = store}
