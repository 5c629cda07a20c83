-- nnscaler_megatron.lua: the Megatron policy of nnScaler's tests. Stages begin at every so many-th
-- matmul with a weight; in a stage these are cut by columns and by rows in turn, by the parity of
-- their place among its nodes, and all other nodes are computed whole.
--
-- It is written for a stack of linear layers: on a transformer the turns do not fall on attention
-- and MLP, which scripts/policies/megatron.lua finds by name.
-- Axes: stage s is on part s of the devices in mesh order, so pp comes first.

local MICRO_BATCHES = 4

-- A linear of torch: here a matmul or Gemm with a weight of [in, out].
local function is_linear(node)
    return (node.name == "MatMul" or node.name == "Gemm") and node:input(1).is_param
end

-- The start of each of n stages, after equal counts of linears.
local function starts_of(linears, n)
    local starts, step = {}, #linears // n
    for i = 0, n - 1 do starts[#starts + 1] = linears[i * step + 1] end
    return starts
end

function PAS(graph, resource)
    local stages = resource.mesh.pp or 1
    local width = resource.ngpus // stages
    graph:staging(starts_of(graph:select(is_linear), stages))
    for s, stage in ipairs(graph:segments()) do
        for i, node in ipairs(stage:nodes()) do
            local columns, subs = (i - 1) % 2 == 0, nil
            local split = {idx = 1, dim = columns and 1 or 0, num = width}
            if is_linear(node) and node:algorithm("dim"):satisfy(split) then
                subs = graph:partition(node, node:algorithm("dim"), split)
            else
                subs = graph:replicate(node, width)
            end
            for k, sub in ipairs(subs) do graph:assign(sub, (s - 1) * width + k - 1) end
        end
    end
    if stages > 1 then graph:schedule("1f1b", {micro_batches = MICRO_BATCHES}) end
    return graph
end
