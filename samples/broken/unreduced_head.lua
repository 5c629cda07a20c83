-- unreduced_head.lua: megatron without the all-reduce behind the head's gradient.
--
-- What: each rank of tp has a part of the vocabulary, so that its gradient of the head's input is an
--     addend. A fused head that skips the all-reduce, or applies it to a copy, trains all layers
--     below on one rank's part of it.
-- Like: NovaSky-AI/SkyRL #1886, whose head reduced a contiguous copy of a transposed tensor.
-- Check: gradient-partial.  Run: the first wrong value is transformer.ln_f.out~grad.

include "megatron"
local megatron = PAS

function PAS(graph, resource)
    megatron(graph, resource)
    graph:assume("*.ln_f.out~grad", "reduced", "tp")
    return graph
end
