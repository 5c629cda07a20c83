-- dropout_by_rank.lua: megatron, and dropout with another seed on each rank of tp.
--
-- What: behind a row-parallel matmul each rank of tp has the whole of its sum. A seed of its own, right
--     for the sharded values inside, drops other elements of each copy: from there on the ranks train
--     different networks, and their replicated parameters drift apart.
-- Like: bigscience-workshop/Megatron-DeepSpeed #276, random states of tp that went out of step.
-- Check: drawn-apart.  Run: the first wrong value is Dropout_1 out.

include "megatron"
local megatron = PAS

function PAS(graph, resource)
    megatron(graph, resource)
    graph:assume("*Dropout*out", "drawn by rank", "tp")
    return graph
end
