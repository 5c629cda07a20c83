-- tp.lua: tensor parallelism of any model, without knowing its modules.
--
-- When: the modules are not those that megatron.lua knows, or to see what knowing nothing gives.
-- What: matmuls with a weight alternate in program order: the first is cut by columns (n), the next
--     by rows (k). Matmuls of the same input are one step (q, k and v; gate and up). Columns then
--     rows need no communication between them, and one all-reduce after. A fused weight whose output
--     is split in equal parts (GPT-2's c_attn) is cut within each part. It knows nothing of heads:
--     where tp does not divide them, the findings say so.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m tp=4 -p tp
--     24 all_reduce; step 21.3 ms, moved 864.0 MiB, peak 685.1 MiB
-- Axes: tp. Others of the mesh are not used, with a note.
-- Paper: Shoeybi et al. 2019, Megatron-LM, arXiv 1909.08053.

local common = include "lib/common"

local PASSED = {Reshape = true, Add = true} -- between a matmul and its Split

local function has_equal_shapes(tensors)
    for _, tensor in ipairs(tensors) do
        for i, size in ipairs(tensor.shape) do
            if size ~= tensors[1].shape[i] then return false end
        end
    end
    return true
end

-- In how many equal parts the output of the matmul is split; 1 when it is not.
local function parts_of(node)
    local out = node:output(0)
    for _ = 1, 3 do
        local readers = out:consumers()
        if #readers ~= 1 then return 1 end
        local reader = readers[1]
        if reader.name == "Split" then
            return has_equal_shapes(reader:outputs()) and #reader:outputs() or 1
        end
        if not PASSED[reader.name] then return 1 end
        out = reader:output(0)
    end
    return 1
end

-- A matmul whose rows and columns are more than one, and known.
local function is_weighted(node)
    if (node.name ~= "MatMul" and node.name ~= "Gemm") or not node:input(1).is_param then
        return false
    end
    local x, weight = node:input(0).shape, node:input(1).shape
    return x and #weight >= 2 and weight[#weight - 1] > 1 and weight[#weight] > 1
end

function PAS(graph, resource)
    common.use_axes("tp.lua", resource, {{"tp", "the weights stay whole"}})
    local input, by_columns = nil, false
    for _, node in ipairs(graph:nodes()) do
        if is_weighted(node) then
            if node:input(0) ~= input then by_columns = not by_columns end
            input = node:input(0)
            if by_columns then
                graph:pin(node, {n = {axis = "tp", interleave = parts_of(node)}})
            else
                graph:pin(node, {k = "tp"})
            end
        end
    end
    if not input then print("tp.lua found no matmul with a weight") end
    return graph
end
