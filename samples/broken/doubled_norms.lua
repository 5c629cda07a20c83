-- doubled_norms.lua: megatron, and a sum of gradients that are complete already.
--
-- What: without sequence parallelism each rank of tp has the whole gradient of a norm's weight. A sum
--     over tp, right for megatron_sp, makes it tp times too large. Adam's first step hides that, since
--     it does not depend on the scale of a gradient; its moments do.
-- Like: NVIDIA/Megatron-LM #6660, gradients that were added to themselves for each micro-batch.
-- Check: gradient-doubled.  Run: the first wrong value is transformer.ln_f.weight~grad.

include "megatron"
local megatron = PAS

function PAS(graph, resource)
    megatron(graph, resource)
    graph:assume("*.ln_{1,2,f}.{weight,bias}~grad", "partial", "tp")
    return graph
end
