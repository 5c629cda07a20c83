-- norm_misses_shards.lua: fsdp with a norm of all gradients that each rank computes by itself.
--
-- What: each rank has a shard of each gradient. Without a sum over dp each takes the norm of its own
--     shards, clips by another factor, and the parameters stop being those of one model.
-- Like: NVIDIA/Megatron-LM #7452 reports wrong norms besides wrong gradients.
-- Check: norm-misses-shards.  Run: the first wrong value is transformer.wte.weight~grad~square.

include "fsdp"
local fsdp = PAS

function PAS(graph, resource)
    fsdp(graph, resource)
    graph:assume("*~grad~square", "reduced", "dp")
    return graph
end
