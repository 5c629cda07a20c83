-- An embedding whose kernel is C, cut by its vocabulary.
--
--   cc -shared -fPIC -I core/run -o samples/native/libembedding.so samples/native/embedding.c
--   dimscope run samples/native/model.lua -m tp=4 -p samples/native/embedding.lua --allow-native --verify
--
-- The annotation freezes n, since a part of the table alone does not make the output. The rule
-- allows its cut: each part makes an addend, and is told which rows it has.

local function rows_of_part(kwargs, idx, dim, num, i)
    local size = (kwargs.stop - kwargs.start) // num
    return {start = kwargs.start + i * size, stop = kwargs.start + (i + 1) * size}
end

register_op("b s, n^ e -> b s e", {
    name = "my::embedding",
    dtype = 1, -- as the table
    rules = {{ins = {"R", "D(0)"}, outs = {"V"}, kwargs = rows_of_part}},
    input_gen = function(node) return {{lo = 0, hi = node.size.n}} end,
    cost = function(node)
        local ids, out = node.inputs[1].shape, node.outputs[1].shape
        local elements = out[1] * out[2] * out[3]
        return {flops = 0, bytes = 8 * elements + 8 * ids[1] * ids[2]}
    end,
    kernel = {plugin = "./libembedding.so", symbol = "embedding"},
    example = "4x6:i64,16x5 start=0 stop=16",
})

function PAS(graph, resource)
    for _, node in ipairs(graph:nodes()) do
        if node.name == "my::embedding" then
            graph:partition(node, node:algorithm("dim"), {idx = 1, dim = 0, num = resource.ngpus})
        end
    end
    return graph
end
