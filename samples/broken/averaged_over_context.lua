-- averaged_over_context.lua: context with gradients averaged over cp.
--
-- What: the loss is the mean over all tokens, those of the other ranks of cp too, so that each rank's
--     gradient is an addend of the right one over dp and over cp. Averaging over cp, as if each part of
--     the sequence were a batch of its own, divides once more.
-- Like: NVIDIA/Megatron-LM #906, a factor of context parallelism that was applied twice.
-- Check: gradient-averaged-twice.  Run: the first wrong value is lm_head.weight~grad.

include "context"
local context = PAS

function PAS(graph, resource)
    context(graph, resource)
    graph:assume("*.{weight,bias}~grad", "mean", "cp")
    return graph
end
