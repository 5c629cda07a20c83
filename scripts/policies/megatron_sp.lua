-- megatron_sp.lua: megatron.lua's plan, and sequence parallelism between its matmuls.
--
-- When: as megatron.lua, where activations take the memory: norms, residual adds and the embedding
--     are otherwise whole on each device of tp, and each of them does all of their work.
-- What: the residual stream is cut by tp along the sequence wherever a norm reads it. Each all-reduce
--     of megatron.lua becomes a reduce-scatter after the second matmul and an all-gather before the
--     next pair's first: the same bytes on the wire. The embedding is summed into parts of the
--     sequence, and the head gathers its input. Where attention and MLP stand side by side, a norm that
--     both read (GPT-J) is gathered once, and of two norms (Falcon's ln_attn and ln_mlp) each: gathering
--     their common input instead would run both norms whole on every device of tp. The backward pass
--     gathers the inputs of matmuls again, unless keep_gathered=true. Where a model picks one
--     place of the sequence (ViT's class token) one more all-gather stands before it.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron_sp
--     25 all_gather, 25 reduce_scatter; step 12.8 ms, moved 450.0 MiB, peak 364.0 MiB
-- Axes: dp, tp. One may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Korthikanti et al. 2022, Reducing Activation Recomputation, arXiv 2205.05198.

local common = include "lib/common"
local roles = include "lib/roles"
local zero = include "lib/zero"
local megatron = include "megatron"

OPTIONS = common.options{
    {"cut_vocabulary", true, "shard the embedding and the head by vocabulary"},
    roles.one_sum,
    {"keep_gathered", false, "keep what is gathered along the sequence for the backward pass"},
    zero.options(0)
}

SIZES = common.sizes(function(resource) return zero.batch_axes(resource, {"tp"}) end)

function PAS(graph, resource)
    local batch = zero.batch_axes(resource, {"tp"})
    common.use_axes("megatron_sp.lua", resource, {
        {"dp", "the batch stays whole"},
        {"tp", "the weights and the sequence stay whole"},
    }, zero.axes(resource))
    common.cut_batch(graph, batch)
    if resource.mesh.tp then
        megatron.cut_weights(graph, "megatron_sp.lua", resource, "tp", resource.options.one_sum)
        roles.cut_sequence(graph, "tp", resource.options.keep_gathered)
    end
    zero.store(graph, resource)
    common.schedule(graph, resource)
    common.recompute(graph, resource)
    return graph
end
