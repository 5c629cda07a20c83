-- norm_counts_replicas.lua: megatron with a norm of all gradients that counts replicas.
--
-- What: clipping divides by the norm of all gradients. Squares of gradients that tp shards are summed
--     over tp; those that each rank of tp has whole must not be, or they count tp times and all
--     gradients are clipped too much.
-- Like: ROCm/TransformerEngine #715, norms 1.36 to 1.52 times too large at tp=8; NVIDIA-NeMo/RL #3788.
-- Check: norm-counts-replicas.  Run: the first wrong value is transformer.wpe.weight~grad~square.

include "megatron"
local megatron = PAS

function PAS(graph, resource)
    megatron(graph, resource)
    graph:assume("*~grad~square", "partial", "tp")
    return graph
end
