-- megatron.lua: Megatron-LM's plan for transformers, with data parallelism.
--
-- When: layers are too large, or too slow, for one device, and tp devices are on one fast link.
-- What: tp shards pairs of matmuls, the first by columns (n), the second by rows (k): attention by
--     heads, the MLP by its hidden dim. Forward that is two all-reduces a layer, or one where
--     attention and MLP are added in one sum; with biases between, by one_sum. The vocabulary is
--     sharded too: one more all-reduce, and logits that stay sharded. dp shards the batch.
--     Matmuls are recognised by the structure of the graph, so that one file does for all
--     transformers, whatever exporter wrote them; a table of notes says what was found.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron
--     25 all_reduce; step 13.2 ms, moved 450.0 MiB, peak 366.3 MiB
-- Axes: dp, tp. One may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Shoeybi et al. 2019, Megatron-LM, arXiv 1909.08053.

local common = include "lib/common"
local roles = include "lib/roles"
local zero = include "lib/zero"

OPTIONS = common.options{{"cut_vocabulary", true, "shard the embedding and the head by vocabulary"}, roles.one_sum, zero.options(0)}

local function cut_weights(graph, policy, resource, axis, one_sum)
    local size, found = resource.mesh[axis], roles.find(graph, policy)
    roles.shard(graph, found.column, axis, size)
    roles.shard(graph, found.row, axis, size)
    if resource.options.cut_vocabulary then
        roles.shard(graph, found.embedding, axis, size)
        roles.shard(graph, found.head, axis, size)
    end
    if one_sum then roles.reduce_once(graph, found.row) end
    if resource.notes then roles.report(graph, found, axis, size) end
end

SIZES = common.sizes(function(resource) return zero.batch_axes(resource, {"tp"}) end)

function PAS(graph, resource)
    local batch = zero.batch_axes(resource, {"tp"})
    common.use_axes("megatron.lua", resource, {
        {"dp", "the batch stays whole"},
        {"tp", "the weights stay whole"},
    }, zero.axes(resource))
    common.cut_batch(graph, batch)
    if resource.mesh.tp then
        cut_weights(graph, "megatron.lua", resource, "tp", resource.options.one_sum)
    end
    zero.store(graph, resource)
    common.schedule(graph, resource)
    common.recompute(graph, resource)
    return graph
end

return {cut_weights = cut_weights}
