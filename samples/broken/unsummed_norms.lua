-- unsummed_norms.lua: megatron_sp without the sum of the norms' gradients.
--
-- What: under sequence parallelism each rank of tp has a part of the sequence, so that its gradient
--     of a norm's weight is an addend. Megatron-LM sums what has the attribute `sequence_parallel`;
--     a parameter without it is updated with another gradient on each rank, and drifts apart.
-- Like: NVIDIA/Megatron-LM #1446, #474, finding 11 of #7452; pytorch/torchtitan #1373.
-- Check: gradient-unsummed.  Run: the first wrong value is transformer.ln_f.weight~grad.

include "megatron_sp"
local megatron_sp = PAS

function PAS(graph, resource)
    megatron_sp(graph, resource)
    graph:assume("*.ln_{1,2,f}.{weight,bias}~grad", "reduced", "tp")
    return graph
end
