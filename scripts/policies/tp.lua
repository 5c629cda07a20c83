-- tp.lua: tensor parallelism alone: pairs of matmuls, and nothing else.
--
-- When: to see what tensor parallelism costs by itself, or beside cuts of your own.
-- What: megatron.lua's pairs, the first matmul by columns (n), the second by rows (k), with the
--     vocabulary whole unless the option says otherwise. A matmul without a partner whose columns are
--     an output of the model is sharded by columns. The batch stays whole.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m tp=4 -p tp
--     24 all_reduce; step 32.2 ms, moved 864.0 MiB, peak 1.9 GiB
-- Axes: tp. Others of the mesh are not used, with a note.
-- Paper: Shoeybi et al. 2019, Megatron-LM, arXiv 1909.08053.

local common = include "lib/common"
local roles = include "lib/roles"
local zero = include "lib/zero"

OPTIONS = common.options{{"cut_vocabulary", false, "shard the embedding and the head by vocabulary"}, zero.options(0)}

SIZES = common.sizes(function() return {} end)

function PAS(graph, resource)
    common.use_axes("tp.lua", resource, {{"tp", "the weights stay whole"}}, zero.axes(resource))
    local size, found = resource.mesh.tp, roles.find(graph, "tp.lua", true)
    roles.shard(graph, found.column, "tp", size)
    roles.shard(graph, found.row, "tp", size)
    roles.shard(graph, found.output, "tp", size)
    if resource.options.cut_vocabulary then
        roles.shard(graph, found.embedding, "tp", size)
        roles.shard(graph, found.head, "tp", size)
    end
    if resource.notes then roles.report(graph, found, "tp", size) end
    zero.store(graph, resource)
    common.schedule(graph, resource)
    common.recompute(graph, resource)
    return graph
end
