-- lib/common.lua: what policies share. Axes of the mesh by name, and the batch.

-- "dp, tp and pp"
local function join(names)
    local all_but_last = table.concat(names, ", ", 1, #names - 1)
    return #names > 1 and all_but_last .. " and " .. names[#names] or names[1]
end

-- axes: a list of {name, what it means that the mesh has none; nil: nothing}. A mesh without any of
-- them and of the others is an error; one that it lacks, and one that nobody uses, a note. An axis of
-- size 1 needs none. others: names of axes that are used if the mesh has them.
local function use_axes(policy, resource, axes, others)
    local names, used, n = {}, {}, 0
    for _, name in ipairs(others or {}) do
        used[name] = true
        if resource.mesh[name] then n = n + 1 end
    end
    for i, axis in ipairs(axes) do
        names[i], used[axis[1]] = axis[1], true
        if resource.mesh[axis[1]] then n = n + 1 end
    end
    if n == 0 then
        error(("%s cuts by %s named %s, and the mesh has none%s"):format(policy,
            #names > 1 and "axes" or "an axis", join(names), #names > 1 and " of them" or ""), 0)
    end
    for _, axis in ipairs(resource.mesh) do
        if not used[axis.name] and axis.size > 1 then
            print(policy .. " does not use the axis " .. axis.name)
        end
    end
    for _, axis in ipairs(axes) do
        if not resource.mesh[axis[1]] and axis[2] then print(("no axis %s: %s"):format(axis[1], axis[2])) end
    end
end

-- The dim that the model calls batch, else the first one, from 0; nil for a scalar.
local function batch_dim(tensor)
    for i, name in ipairs(tensor.dim_names) do
        if name:find("batch", 1, true) then return i - 1 end
    end
    if #tensor.shape > 0 then return 0 end
end

-- The batch dim of each input of the graph, by those axes, if there are any.
local function cut_batch(graph, axes)
    if #axes == 0 then return end
    for _, input in ipairs(graph:inputs()) do
        local dim = batch_dim(input)
        if dim and input.shape[dim + 1] > 1 then
            graph:shard(input, {[dim] = axes})
        elseif dim then
            print(input.label .. " has a batch of 1: it stays whole")
        end
    end
end

-- What all policies have: of sizes(), schedule() and recompute().
local SHARED = {
    {"micro_batch", 0, "samples of a micro-batch on each rank of the batch; 0: the batch of the model"},
    {"micro_batches", 1, "micro-batches a step"},
    {"schedule", "auto", "in which order micro-batches run: auto or any of 'help schedules'"},
    {"overlap", "none",
        "passes under which gathers of parameters and reductions of gradients run: none (as "
            .. "Megatron-LM by default), forward, backward, both"},
    {"recompute", "none",
        "what runs again in the backward pass: none, full (each layer), selective (the core of each "
            .. "attention), or a pattern of modules"},
    {"recompute_layers", 0, "of full: the first layers of each stage; 0: all"},
}

-- The options of a policy, and those of SHARED that it does not have itself.
local function with_shared(options)
    local own = {}
    for _, option in ipairs(options) do own[option[1]] = true end
    for _, option in ipairs(SHARED) do
        if not own[option[1]] then options[#options + 1] = option end
    end
    return options
end

-- Devices along an axis, "dp", or a part of one, "pp:(1)2".
local function axis_size(resource, name)
    return tonumber(name:match(":%(%d+%)(%d+)$")) or resource.mesh[name] or 1
end

-- The function SIZES of a policy. batch_axes(resource): the axes that shard the batch.
local function sizes(batch_axes)
    return function(resource)
        local n = resource.options.micro_batch
        if n < 0 then error("micro_batch is a number of samples, or 0", 0) end
        for _, name in ipairs(batch_axes(resource)) do n = n * axis_size(resource, name) end
        return {batch = n > 0 and n or nil}
    end
end

-- Of a model in one stage: the micro-batches of a step, one behind the other.
local function schedule(graph, resource)
    local options = resource.options
    local overlaps = resource.trains and options.overlap ~= "none"
    if options.micro_batches == 1 and options.schedule == "auto" and not overlaps then return end
    graph:schedule(options.schedule == "auto" and "1f1b" or options.schedule,
        {micro_batches = options.micro_batches, overlap = overlaps and options.overlap or nil})
end

-- Recomputes what the options ask for. Call it after stages have been made. whole: all of a layer,
-- also what no gradient needs.
local function recompute(graph, resource, whole)
    local what, layers = resource.options.recompute, resource.options.recompute_layers
    if layers < 0 then error("recompute_layers is a number of layers, or 0 for all", 0) end
    if what == "none" then return end
    graph:recompute(what, {layers = layers > 0 and layers or nil, whole = whole})
end

return {
    use_axes = use_axes,
    cut_batch = cut_batch,
    options = with_shared,
    sizes = sizes,
    schedule = schedule,
    recompute = recompute,
}
