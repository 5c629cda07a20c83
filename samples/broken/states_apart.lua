-- states_apart.lua: megatron, and an optimizer of whose states one is stored sharded, the other whole.
--
-- What: the moments of AdamW are renewed by one op, which reads both alike: the one that lies
--     otherwise is gathered or sliced in every step, and what was meant to be saved is not. The
--     values are right, so that a run says nothing.
-- Like: NVIDIA/Megatron-LM #7452; alpa #214: a ZeRO flag that silently does less than it says.
-- Check: states-differ, a warning.

include "megatron"
local megatron = PAS

function PAS(graph, resource)
    megatron(graph, resource)
    graph:shard("*.mlp.c_fc.weight~m", {[0] = {axis = "dp", store = true}})
    return graph
end
