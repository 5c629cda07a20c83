-- The sharding of megatron_sp; each matmul beside a reshard of the sequence computes on parts of it
-- while its operand, or its sum, goes around a ring.
OPTIONS = {{"cut_vocabulary", true, "shard the embedding and the head by vocabulary"}}

function PAS(graph, resource)
    include("megatron").cut_weights(graph, "rings.lua", resource, "tp")
    include("lib/roles").cut_sequence(graph, "tp")
    for _, node in ipairs(graph:select({op = "*_proj/MatMul"})) do
        graph:pin(node, {s = {axis = "tp", ring = true}})
    end
    return graph
end
