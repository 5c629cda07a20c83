-- each_micro_batch.lua: pipeline, and a gradient that each micro-batch reduces.
--
-- What: each micro-batch adds its gradient to those before it, so that one reduction a step is
--     enough. Here the gradient of the positions is marked replicated over dp where the backward pass
--     goes on from it, as a sharding constraint does inside of the loop over micro-batches: it is
--     all-reduced for each of them. The values are right, so that a run says nothing.
-- Like: AI-Hypercomputer/maxtext #5056, #5099, #5104: one all-reduce a micro-batch, silently.
-- Check: reduced-each-micro-batch, a warning; with --max-grad-reduces 29, exit code 1.

include "pipeline"
local pipeline = PAS

function PAS(graph, resource)
    pipeline(graph, resource)
    graph:replicated("/transformer/Cast_1_output_0~grad", "dp")
    return graph
end
