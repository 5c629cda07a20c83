-- lib/roles.lua: shards the weights of a model by their roles, which graph:roles() finds from the
-- structure of the graph: no module has to have a certain name.

-- "h.3.mlp.c_fc.weight": "h.*.mlp.c_fc.weight". A number that is a module by itself, "mlp.3.weight",
-- stays; weights of other names are of layers, "h.3.w1": "h.*.w1".
local function pattern_of(name)
    local front, last = name:match("^(.*)(%.%d+%.weight)$")
    return (front or name):gsub("([._])%d+%f[%W]", "%1*") .. (last or "")
end

-- The axis, or the major part of it, that gives each of `units` heads one device at least; nil if
-- heads cannot be shared evenly.
local function axis_for(axis, size, units)
    if units >= size then return axis end
    if units > 1 and size % units == 0 then return axis .. ":(1)" .. units end
end

-- How the columns of a role are sharded, as a cut; nil if they cannot be.
local function column_cut(role, axis, size)
    local parts, equal = role.parts, true
    axis = parts and axis_for(axis, size, role.units)
    if not axis then return end
    for _, part in ipairs(parts) do equal = equal and part == parts[1] end
    if equal then return {axis = axis, interleave = #parts} end
    if role.units > size and role.units % size ~= 0 then return end
    return {axis = axis, blocks = parts}
end

-- Whether matmuls make the rows of this one that all stay whole since their heads do not divide.
local function made_whole(role, axis, size)
    for _, column in ipairs(role.made_by) do
        if not column.parts or column_cut(column, axis, size) then return false end
    end
    return #role.made_by > 0
end

local function row_cut(role, axis, size)
    role.made_whole = made_whole(role, axis, size)
    if role.made_whole then return end
    axis = axis_for(axis, size, role.units)
    return axis and {axis = axis}
end

-- By role: the index dim that is sharded, and how.
local CUTS = {
    column = function(role, ...) return role.columns, column_cut(role, ...) end,
    row = function(role, ...) return role.rows, row_cut(role, ...) end,
    head = function(role, axis) return role.columns, {axis = axis} end,
    whole = function(role, axis) return role.columns, {axis = axis} end,
    embedding = function(role, axis) return role.rows, {axis = axis} end,
}

-- "12 heads of 64"; "8 groups of 8 heads of 128": heads that share a key; "64 groups of 2" columns.
local function describe_units(role)
    local heads = role.head and role.unit % role.head == 0 and role.unit // role.head or 1
    if heads == 1 then return ("%d %s of %d"):format(role.units, role.head and "heads" or "groups", role.unit) end
    return ("%d groups of %d heads of %d"):format(role.units, heads, role.head)
end

-- "n by tp in 3 parts, 12 heads of 64": of a cut.
local function describe(role, dim, cut)
    local text = dim .. " by " .. cut.axis
    if cut.blocks then
        text = text .. " in parts of " .. table.concat(cut.blocks, ", ")
    elseif cut.interleave and cut.interleave > 1 then
        text = text .. (" in %d parts"):format(cut.interleave)
    end
    if role.unit == 1 then return text end
    return text .. ", " .. describe_units(role)
end

-- Why a weight stays whole.
local function why_whole(role)
    if role.role == "column" and not role.parts then
        return "all query heads read its one head of keys and values"
    end
    if role.made_whole then return "the matmuls that make its rows stay whole" end
    if role.units > 0 then return describe_units(role) .. " do not divide" end
    if role.reader then return role.reader.name .. " reads all its columns" end
    return "its columns make the rows of no other matmul"
end

-- Rows of a table, of equal ones one with a count, in the order in which they came.
local function new_table()
    local rows, place = {}, {}
    return rows, function(...)
        local key = table.concat({...}, "\n")
        if not place[key] then
            rows[#rows + 1] = {0, ...}
            place[key] = rows[#rows]
        end
        place[key][1] = place[key][1] + 1
    end
end

local function print_table(rows)
    local widest = 0
    for _, row in ipairs(rows) do widest = math.max(widest, #row[3]) end
    for _, row in ipairs(rows) do
        print(("%-9s %3d  %-" .. math.min(widest, 60) .. "s  %s"):format(row[2], row[1], row[3],
            row[4]))
    end
end

-- What graph:roles() says is whole and must be: a router, a narrow value between two matmuls.
local EXPECTED = {router = true, latent = true}

local function warn_whole(graph, rows)
    local n, texts = 0, {}
    for _, row in ipairs(rows) do
        n = n + row[1]
        texts[#texts + 1] = ("%s (%s)"):format(row[2], row[3])
    end
    if n > 0 then
        graph:warn(("%d matmul%s whole: %s"):format(n, n > 1 and "s stay" or " stays",
            table.concat(texts, "; ")), "pin them in a policy of your own, if they are large")
    end
end

-- graph:roles() of a graph, found once; what find() adds to a role stays there.
local roles_of = setmetatable({}, {__mode = "k"})

local function all(graph)
    roles_of[graph] = roles_of[graph] or graph:roles()
    return roles_of[graph]
end

-- What graph:roles() finds, as one list and by role; made_by: the column matmuls before a row matmul.
-- A graph without any pair of matmuls is an error;
-- without matmuls whose columns are an output too, if `alone` is true.
local function find(graph, policy, alone)
    local found = {column = {}, row = {}, head = {}, embedding = {}, output = {}}
    local columns, last = {}
    for _, role in ipairs(all(graph)) do
        if role.role == "column" then
            columns = last == "row" and {} or columns
            columns[#columns + 1] = role
        end
        role.made_by = columns
        last = role.role
        local list = found[role.role == "whole" and role.output and "output" or role.role]
        if list then list[#list + 1] = role end
        found[#found + 1] = role
    end
    if #found.row == 0 and not (alone and #found.output > 0) then
        error(policy .. " found no two matmuls of which one makes the rows of the other", 0)
    end
    return found
end

-- Shards the weights of a list by an axis of that size, where they can be; report() says which.
local function shard(graph, list, axis, size)
    for _, role in ipairs(list) do
        local dim, cut = CUTS[role.role](role, axis, size)
        if cut then
            graph:shard(role.weight, {[dim] = cut})
            role.dim, role.cut = dim, cut
            role.copies = cut.axis ~= axis and size // role.units
        end
    end
end

-- Warns of heads that several ranks along the axis hold and compute alike.
local function warn_repeated(graph, found, axis, size)
    local seen, texts, copies = {}, {}, 0
    for _, role in ipairs(found) do
        local name = role.copies and pattern_of(tostring(role.weight))
        if name and not seen[name] then
            seen[name] = true
            texts[#texts + 1] = ("%s (%s)"):format(name, describe_units(role))
            copies = math.max(copies, role.copies)
        end
    end
    if copies == 0 then return end
    graph:warn(("%s=%d is more than the heads of %s: %d ranks each hold and compute the same"):format(
        axis, size, table.concat(texts, ", "), copies), "as many ranks as heads of keys and values, or fewer",
        "few-heads")
end

-- What was found and how it is sharded by that axis as a table of notes; what stays whole, and what
-- is on several ranks, as warnings.
local function report(graph, found, axis, size)
    local rows, add_row = new_table()
    local whole, add_whole = new_table()
    for _, role in ipairs(found) do
        local name = pattern_of(tostring(role.weight))
        if role.cut then
            add_row(role.role == "whole" and "output" or role.role, name,
                describe(role, role.dim, role.cut))
        elseif role.role == "embedding" or role.role == "head" then
            add_row(role.role, name, "whole")
        elseif EXPECTED[role.role] then
            add_row(role.role, name, "whole: " .. why_whole(role))
        else
            add_whole(name, why_whole(role))
        end
    end
    print_table(rows)
    warn_repeated(graph, found, axis, size)
    warn_whole(graph, whole)
end

-- The values of the residual stream, [batch, sequence, width], that norms read before matmuls.
local function streams(graph)
    local found, seen = {}, {}
    for _, role in ipairs(all(graph)) do
        local stream = role.stream
        if stream and not seen[stream.name] and #(stream.shape or {}) == 3 then
            found[#found + 1], seen[stream.name] = stream, true
        end
    end
    return found
end

-- Keeps the sum of two row matmuls, as of an attention and an MLP that run side by side, whole along
-- the sequence: it is partial, and reduced once instead of each of its addends.
local function keep_partial_sums(graph)
    local partial = {}
    for _, role in ipairs(all(graph)) do
        if role.role == "row" then partial[role.node:output(0).name] = true end
    end
    for _, node in ipairs(graph:nodes()) do
        if node.name == "Add" then
            local a, b = node:input(0), node:input(1)
            if a and b and partial[a.name] and partial[b.name] then
                graph:shard(node, {[node.dims[2].name] = {}})
            end
        end
    end
end

-- The sums that a value goes through, one after another, as long as nothing else reads it.
local function sums_of(graph, value)
    local sums = {}
    while true do
        local readers = graph:consumers(value)
        local node = #readers == 1 and readers[1]
        if not node or node.name ~= "Add" or #node:output(0).shape ~= #value.shape then return sums end
        value = node:output(0)
        sums[#sums + 1] = value
    end
end

-- Where an attention and an MLP that run side by side have biases, or one is added to the residual
-- stream before the other: the sum of all stays partial, and is reduced once.
local function reduce_once(graph, rows)
    local first = {}
    for _, role in ipairs(rows) do
        local sums = role.cut and sums_of(graph, role.node:output(0)) or {}
        for i, sum in ipairs(sums) do
            local other = first[sum.name]
            if other and other.axis == role.cut.axis then
                graph:unreduced(table.move(sums, 1, i, #other.sums + 1, other.sums), other.axis)
                break
            end
            first[sum.name] = {axis = role.cut.axis, sums = table.move(sums, 1, i, 1, {})}
        end
    end
end

-- What the matmuls behind norms read, [batch, sequence, width], each once. Those of two dims read a
-- view of it.
local function normed(graph)
    local found, seen = {}, {}
    for _, role in ipairs(all(graph)) do
        local value = role.stream and role.node:input(0)
        local view = value and value:producer()
        if view and view.name == "Reshape" and #(value.shape or {}) == 2 then value = view:input(0) end
        if value and not seen[value.name] and #(value.shape or {}) == 3 then
            found[#found + 1], seen[value.name] = value, true
        end
    end
    return found
end

-- Shards values along the sequence. What a matmul reads itself is sharded after the weights, which it
-- is gathered for: with keep, and where norms stand behind the sums (BERT).
local function shard_streams(graph, found, axis, keep)
    local read, cut = {}, {}
    for name, value in pairs(type(axis) == "table" and axis or {axis}) do cut[name] = value end
    for _, value in ipairs(normed(graph)) do read[value.name] = true end
    for _, stream in ipairs(found) do
        if not read[stream.name] then graph:shard(stream, {[1] = axis}) end
    end
    cut.priority, cut.keep = 1, keep or nil
    for _, value in ipairs(keep and normed(graph) or found) do
        if read[value.name] then graph:shard(value, {[1] = cut}) end
    end
end

-- Shards it along the sequence. All that works on one place of the sequence at a time follows: norms,
-- residual sums, the embedding, the ids. keep: what is gathered for matmuls stays for the backward
-- pass. False, with a note, where there is nothing to shard.
local function cut_sequence(graph, axis, keep)
    local found = streams(graph)
    if #found == 0 then
        print("no norm of [batch, sequence, width] was found: the sequence stays whole")
    elseif found[1].shape[2] == 1 then
        print("a sequence of 1 stays whole")
    else
        shard_streams(graph, found, axis, keep)
        keep_partial_sums(graph)
        return true
    end
    return false
end

-- Shards what a step of inference remembers of earlier tokens along these tokens. Attention as one op
-- reads all of them.
local function cut_cache(graph, axes)
    local found, whole = {}, false
    for _, input in ipairs(graph:inputs()) do
        if input.dim_names[3] == "context" then found[#found + 1] = input end
    end
    if #found == 0 then return end
    graph:shard(found, {[2] = axes})
    for _, node in ipairs(graph:nodes()) do whole = whole or node.name == "Attention" end
    if whole then
        graph:warn("attention as one op reads the whole cache, which is gathered for each layer and token",
            "attention=eager computes with its parts", "cache-gathered")
    end
end

-- Each matmul of stacked experts: its experts by ep, queues of the batch by those axes. How many
-- there are.
local function shard_experts(graph, batch)
    local n = 0
    for _, role in ipairs(all(graph)) do
        if role.experts then
            local cuts = {[role.experts] = "ep"}
            if role.batch then cuts[role.batch] = batch end
            graph:pin(role.node, cuts)
            graph:shard(role.weight, {[role.experts] = "ep"})
            n = n + 1
        end
    end
    return n
end

-- Keys and values of few heads, [batch, heads, 1, sequence, head size], that an Expand repeats for
-- the query heads of each: they are gathered along the sequence before that.
local function gather_few_heads(graph)
    for _, node in ipairs(graph:nodes()) do
        local few = node.name == "Expand" and node:input(0)
        local shape, repeated = few and few.shape or {}, node:output(0).shape or {}
        if #shape == 5 and #repeated == 5 and shape[3] == 1 and repeated[3] > 1 then
            graph:shard(few, {[3] = {}})
        end
    end
end

-- The sizes of a node's index dims by name.
local function dim_sizes(node)
    local sizes = {}
    for _, dim in ipairs(node.dims) do sizes[dim.name] = dim.size end
    return sizes
end

-- By style: how an attention that is one op gets keys and values of all places by an axis of that
-- size. Returns what to pin of it, or why it cannot.
local STYLES = {
    gather = function() return {} end,
    ring = function(sizes, axis, size, zigzag)
        if not sizes.t then return nil, "it has no dim of keys" end
        return {t = {axis = axis, ring = true, zigzag = zigzag}}
    end,
    ulysses = function(sizes, axis, size)
        local heads, group = sizes.h or 1, sizes.g or 1
        if heads % size == 0 then return {h = axis} end
        if heads == 1 and group % size == 0 then return {g = axis} end
        return nil, ("%d heads of keys do not divide by %d"):format(heads, size)
    end,
}

-- Pins each attention that is one op by the style; warns of those that it does not fit.
local function attend(graph, axis, size, style, zigzag)
    local cuts, n = STYLES[style], 0
    if not cuts then error(("style is gather, ring or ulysses, not '%s'"):format(style), 0) end
    for _, node in ipairs(graph:nodes()) do
        if node.name == "Attention" then
            local pins, why = cuts(dim_sizes(node), axis, size, zigzag)
            if pins and next(pins) then graph:shard(node, pins) end
            if not pins then
                graph:warn(("%s is gathered: %s"):format(node.label or node.name, why),
                    "style=ring or style=gather", "style")
            end
            n = n + 1
        end
    end
    if n == 0 and style ~= "gather" then
        graph:warn("no attention is one op: keys and values are gathered",
            "--fuse attention makes one op of it", "style")
    end
end

return {
    one_sum = {"one_sum", false, "where an attention and an MLP are side by side, reduce the sum of both once"},
    find = find,
    attend = attend,
    shard = shard,
    reduce_once = reduce_once,
    report = report,
    cut_sequence = cut_sequence,
    cut_cache = cut_cache,
    shard_experts = shard_experts,
    gather_few_heads = gather_few_heads,
}
