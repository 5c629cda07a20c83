-- lib/stages.lua: the layers of a model, and stages made of them for a pipeline.

-- The layer that a path is in: the path up to its first part that is a number, or ends with one
-- behind a '_'; nil outside of all layers.
local function layer_of(path)
    local _, to = (path .. "."):find("%f[^._\0]%d+%.")
    return to and path:sub(1, to - 1)
end

-- Nodes that stay together, as {first = node, place = 1} in program order: each layer, with what
-- follows it outside of layers, and what is before the first and after the last.
local function layers(nodes)
    local found, seen, of_path, last = {}, {}, {}, 0
    for i, node in ipairs(nodes) do
        local path = node.path
        local layer = of_path[path]
        if layer == nil then
            layer = layer_of(path) or false
            of_path[path] = layer
        end
        if i == 1 or layer and not seen[layer] then
            found[#found + 1] = {first = node, place = i, is_layer = layer ~= false}
        end
        if layer then seen[layer], last = true, i end
    end
    if last > 0 and last < #nodes then
        found[#found + 1] = {first = nodes[last + 1], place = last + 1, is_layer = false}
    end
    return found
end

-- Sets the flops of each.
local function weigh(list, nodes)
    for k, it in ipairs(list) do
        it.flops = 0
        for i = it.place, (list[k + 1] and list[k + 1].place or #nodes + 1) - 1 do
            it.flops = it.flops + nodes[i].flops
        end
    end
end

local function single_nodes(nodes)
    local found = {}
    for i, node in ipairs(nodes) do found[i] = {first = node, place = i} end
    return found
end

-- Where runs of what is in the list begin, when none is to have more flops than `most`. There are
-- n runs, or more where these do not do.
local function runs_of(list, n, most)
    local places, sum = {1}, 0
    for i, it in ipairs(list) do
        local needed = #list - i + 1 == n - #places -- one for each run that is left
        if i > 1 and (sum + it.flops > most or needed) then
            places[#places + 1], sum = i, 0
        end
        sum = sum + it.flops
    end
    return places
end

-- The n runs of which the largest is smallest. FLOPs are whole numbers, and so are their sums.
local function even_runs(list, n)
    local low, high = 0, 0
    for _, it in ipairs(list) do high = high + it.flops end
    for _ = 1, 60 do
        local middle = (low + high) / 2
        if high - low <= 0.5 or middle == low or middle == high then break end
        if #runs_of(list, n, middle) > n then low = middle else high = middle end
    end
    return runs_of(list, n, high)
end

-- Sets flops so that stages of equal flops have equally many layers; if n does not divide them, what
-- is before the first and after the last counts as one, so that stages at the ends have fewer. False
-- if there are fewer layers than stages.
local function count_layers(list, n)
    local n_layers = 0
    for _, it in ipairs(list) do n_layers = n_layers + (it.is_layer and 1 or 0) end
    if n_layers < n then return false end
    for _, it in ipairs(list) do
        it.flops = (it.is_layer or n_layers % n > 0) and 1 or 0
    end
    return true
end

-- Where stages begin that have as many layers as the text says: "7,8x14,6" is 7, 14 times 8, and 6.
-- What is before the first layer is of the first stage, what is after the last of the last.
local function stages_of(list, text, n)
    local counts, layer, sum = {}, {}, 0
    for part in text:gmatch("[^,%s]+") do
        local layers, times = part:match("^(%d+)x(%d+)$")
        layers, times = tonumber(layers or part:match("^%d+$")), tonumber(times or 1)
        if not layers or layers < 1 or #counts + times > n then
            error(("stage_layers is '%s': layers of %d stages, as in 7,8x14,6"):format(text, n), 0)
        end
        for _ = 1, times do
            counts[#counts + 1], sum = layers, sum + layers
        end
    end
    for i, it in ipairs(list) do
        if it.is_layer then layer[#layer + 1] = i end
    end
    if #counts ~= n or sum ~= #layer then
        error(("stage_layers has %d stages of %d layers, and there are %d stages, %d layers"):format(
            #counts, sum, n, #layer), 0)
    end
    local places, next = {1}, 1
    for i = 1, n - 1 do
        next = next + counts[i]
        places[i + 1] = layer[next]
    end
    return places
end

-- Warns where layers do not come out even on n stages that begin at those places of the list. Where
-- stages at the ends have a layer less, what is beside the layers makes up for it.
local function warn_uneven(graph, list, places, n)
    local n_layers, fullest = 0, 0
    for i, first in ipairs(places) do
        local layers = 0
        for k = first, (places[i + 1] or #list + 1) - 1 do
            layers = layers + (list[k].is_layer and 1 or 0)
        end
        n_layers, fullest = n_layers + layers, math.max(fullest, layers)
    end
    if n_layers < n or fullest * n - n_layers <= 2 then return end
    local text = "%d layers on %d stages: %d on the fullest, %.3g on average: other stages wait %.1f%% of its time"
    graph:warn(text:format(n_layers, n, fullest, n_layers / n, 100 * (1 - n_layers / n / fullest)),
        "a number of stages that divides the layers, or the layers and one at each end", "uneven-stages")
end

-- A step of inference: what it adds to a cache of keys and values is an output.
local function has_cache(graph)
    for _, output in ipairs(graph:outputs()) do
        if output.name:find("^present%.") then return true end
    end
    return false
end

local in_a_v = {zbv = true, dualpipev = true, dualpipe = true}

-- Adds to the axes of the batch what shards it if the schedule has two copies of each stage: one on
-- each half of the axis, which shares its part of every micro-batch.
local function with_copies(batch_axes, axis, resource)
    if resource.options.schedule == "dualpipe" and resource.mesh[axis] then
        if resource.mesh[axis] % 2 ~= 0 then
            error(("dualpipe has two copies of each stage, but %s has %d coordinates"):format(
                axis, resource.mesh[axis]), 0)
        end
        table.insert(batch_axes, 1, axis .. ":(1)2")
    end
    return batch_axes
end

-- The micro-batches of the schedule. With two copies of each stage it runs two of the options at a
-- time, one from each end, or halves of one that is the model's batch.
local function micro_batches(options, name, n)
    local m = options.micro_batches
    if name ~= "dualpipe" or options.micro_batch == 0 then return m end
    if m % 2 ~= 0 or m < 2 * n then
        error(("dualpipe runs micro-batches from both ends: micro_batches is an even number of at "
            .. "least %d for %d stages, not %d"):format(2 * n, n, m), 0)
    end
    return m // 2
end

-- The coordinates of the axis that have stages of their own, and a function from one of them to the
-- devices that have it.
local function coordinates(axis, n, schedule)
    if schedule ~= "dualpipe" then return n, function(at) return {[axis] = at} end end
    if n == 2 then return 1, function() return {} end end
    return n // 2, function(at) return {[("%s:(2)%d"):format(axis, n // 2)] = at} end
end

-- Stages for each coordinate of the axis, if the mesh has it, of layers in a row, equally many or of
-- nearly equal flops; and the schedule that the options ask for. With `virtual` stages a coordinate, stages take
-- turns; schedules in a V have two, of which the second ones go back; with two copies of each stage
-- there are half as many coordinates.
local function place(graph, axis, resource)
    local n, options = resource.mesh[axis], resource.options
    local name = options.schedule
    if name == "auto" then name = options.training and not has_cache(graph) and "1f1b" or "infer_pipe" end
    graph:schedule(name, {micro_batches = micro_batches(options, name, n or 1),
        overlap = resource.trains and options.overlap or nil})
    if not n then return end
    if options.virtual < 1 then error("virtual is a number of stages, at least 1") end
    local nodes = graph:nodes()
    local list = layers(nodes)
    local devices, where = coordinates(axis, n, name)
    n = devices * (in_a_v[name] and 2 or options.virtual)
    local layered = #list >= n
    if not layered then
        local n_layers = 0
        for _, it in ipairs(list) do n_layers = n_layers + (it.is_layer and 1 or 0) end
        graph:warn(("%d stages for %d layers: layers are parted between nodes"):format(n, n_layers),
            "as many stages as layers, or fewer", "more-stages-than-layers")
        list = single_nodes(nodes)
    end
    if options.balance ~= "layers" and options.balance ~= "flops" then
        error("balance is layers or flops", 0)
    end
    if options.balance == "flops" or not count_layers(list, n) then weigh(list, nodes) end
    local firsts = {}
    local given = options.stage_layers
    local places = given ~= "" and stages_of(list, given, n) or even_runs(list, n)
    for i, place in ipairs(places) do firsts[i] = list[place].first end
    if layered and given == "" and options.balance == "layers" then warn_uneven(graph, list, places, n) end
    graph:staging(firsts)
    for i, segment in ipairs(graph:segments()) do
        local at = (i - 1) % devices
        if in_a_v[name] and i > devices then at = devices - 1 - at end
        graph:assign(segment, where(at))
    end
end

return {place = place, with_copies = with_copies}
