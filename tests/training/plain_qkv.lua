-- Megatron-LM's cuts, but with q, k and v as one block: a device has columns of only some of them,
-- so that each layer moves them by an all-to-all after c_attn.
function PAS(graph)
    graph:shard("input_ids", {[0] = "dp"})
    graph:shard({"*.c_attn.weight", "*.mlp.c_fc.weight"}, {[1] = "tp"})
    graph:shard({"*.attn.c_proj.weight", "*.mlp.c_proj.weight"}, {[0] = "tp"})
    return graph
end
