-- averaged_twice.lua: dp with averaged gradients of a loss that is a mean already.
--
-- What: the loss is the mean over the whole batch, so that each rank's gradient is an addend of the
--     right one. Averaging them over dp, as data parallel wrappers do for losses of one rank, divides
--     once more.
-- Like: modelscope/ms-swift #10150, a loss over gathered embeddings.
-- Check: gradient-averaged-twice.  Run: the first wrong value is lm_head.weight~grad.

include "dp"
local dp = PAS

function PAS(graph, resource)
    dp(graph, resource)
    graph:assume("*.{weight,bias}~grad", "mean", "dp")
    return graph
end
