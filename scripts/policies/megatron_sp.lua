-- megatron_sp.lua: megatron.lua's plan, and sequence parallelism between its matmuls.
--
-- When: as megatron.lua, where activations take the memory: norms, residual adds and the embedding
--     are otherwise whole on each device of tp, and each of them does all of their work.
-- What: the residual stream is cut by tp along the sequence wherever a norm reads it. Each all-reduce
--     of megatron.lua becomes a reduce-scatter after the second matmul and an all-gather before the
--     next pair's first: the same bytes on the wire. The head does its part of the sequence too, so
--     that logits are not whole either. Where a model picks one place of the sequence (ViT's class
--     token) one more all-gather stands before it.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron_sp
--     24 all_gather, 24 reduce_scatter; step 11.2 ms, moved 432.0 MiB, peak 575.9 MiB
-- Axes: dp, tp. One may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Korthikanti et al. 2022, Reducing Activation Recomputation, arXiv 2205.05198.

local common = include "lib/common"
local transformer = include "lib/transformer"
local megatron = include "megatron"

function PAS(graph, resource)
    common.use_axes("megatron_sp.lua", resource, {
        {"dp", "the batch stays whole"},
        {"tp", "the weights and the sequence stay whole"},
    })
    if resource.mesh.dp then
        common.cut_batch(graph, "dp")
    end
    if resource.mesh.tp then
        megatron.cut_weights(graph, resource.mesh.tp)
        transformer.cut_sequence(graph, "tp")
    end
    return graph
end
