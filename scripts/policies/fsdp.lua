-- fsdp.lua: fully sharded data parallelism (ZeRO-3). As dp.lua, and each parameter is stored in
-- parts: rows by dp, gathered where an op reads it.
--
-- `store = true` says where a parameter lies without saying how it is used, so that its rows do not
-- meet the batch in the matmul: the forward pass all-gathers each parameter once.
-- Axes: dp. Others of the mesh are not used, with a note.

-- The dim that the model calls batch, else the first one; nil for a scalar.
local function batch_dim(tensor)
    for i, name in ipairs(tensor.dim_names) do
        if name:find("batch", 1, true) then return i - 1 end
    end
    if #tensor.shape > 0 then return 0 end
end

function PAS(graph, resource)
    if not resource.mesh.dp then
        error("fsdp.lua cuts by an axis named dp, and the mesh has none")
    end
    for _, axis in ipairs(resource.mesh) do
        if axis.name ~= "dp" then print("fsdp.lua does not use the axis " .. axis.name) end
    end
    for _, input in ipairs(graph:inputs()) do
        local dim = batch_dim(input)
        if dim and input.shape[dim + 1] > 1 then
            graph:shard(input, {[dim] = "dp"})
        end
    end
    for _, parameter in ipairs(graph:params()) do
        if #parameter.shape > 0 then
            graph:shard(parameter, {[0] = {axis = "dp", store = true}})
        end
    end
    return graph
end
