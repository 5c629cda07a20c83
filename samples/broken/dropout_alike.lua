-- dropout_alike.lua: megatron, and dropout with one seed on all ranks of tp.
--
-- What: behind a column-parallel matmul each rank of tp has a shard. One seed, right for replicated
--     values, drops the same places of each shard, so that the elements dropped are not independent.
-- Like: PaddlePaddle/PaddleFleetX #1005; tenstorrent/tt-metal #16823; volcengine/veScale #52.
-- Check: drawn-repeated.  Run: the first wrong value is Dropout out.

include "megatron"
local megatron = PAS

function PAS(graph, resource)
    megatron(graph, resource)
    graph:assume("*Dropout*out", "drawn alike", "tp")
    return graph
end
