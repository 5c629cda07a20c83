-- Megatron's plan, of which the MLPs are searched.
include "megatron"

local base = PAS

function PAS(graph, resource)
    base(graph, resource)
    graph:search{holes = {"*mlp.c_fc*", "*mlp.c_proj*"}}
    return graph
end
