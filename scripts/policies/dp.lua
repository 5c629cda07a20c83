-- dp.lua: data parallelism. Every device holds all weights and computes its part of the batch.
--
-- The batch dim of each graph input is cut by the axis dp; everything else follows from that. The
-- forward pass moves nothing.
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
        error("dp.lua cuts by an axis named dp, and the mesh has none")
    end
    for _, axis in ipairs(resource.mesh) do
        if axis.name ~= "dp" then print("dp.lua does not use the axis " .. axis.name) end
    end
    for _, input in ipairs(graph:inputs()) do
        local dim = batch_dim(input)
        if dim and input.shape[dim + 1] > 1 then
            graph:shard(input, {[dim] = "dp"})
        elseif dim then
            print(input.label .. " has a batch of 1: it stays whole")
        end
    end
    return graph
end
