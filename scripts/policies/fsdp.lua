-- fsdp.lua: fully sharded data parallelism (ZeRO-3): dp, and weights lie in parts.
--
-- When: the batch is large enough for dp, but parameters do not fit on one device.
-- What: the batch dim of each input by dp, as dp.lua. Each parameter is stored in rows by dp, or by
--     the first dim that dp divides, and gathered where an op reads it: its rows do not meet the
--     batch in the matmul. With --train its gradient and optimizer states are stored likewise;
--     the backward pass gathers again what it reads, unless keep=true, or with recompute=full what
--     a layer that runs again reads, once. zero=1 and 2 store less in parts. With zero_axis=sh on
--     dp=2,sh=4 parameters are in parts along sh and both shard the batch (HSDP).
--     With --train gathers run under the forward pass, as FSDP does that prefetches nothing in the
--     backward pass; overlap=both: there too, and reductions of gradients. Without, the line
--     'overlap' of the plan is the best case.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=8 -p fsdp
--     149 all_gather; step 15.6 ms, moved 544.2 MiB, peak 424.3 MiB
-- Axes: dp, zero_axis. Others of the mesh are not used, with a note.
-- Paper: Rajbhandari et al. 2020, ZeRO, arXiv 1910.02054; Zhao et al. 2023, arXiv 2304.11277.

local common = include "lib/common"
local zero = include "lib/zero"

OPTIONS = common.options{
    {"keep", false, "keep gathered parameters from forward to backward"},
    {"overlap", "forward",
        "passes under which gathers of parameters and reductions of gradients run: none, forward "
            .. "(FSDP without prefetch in the backward pass), backward, both (torchtitan, DeepSpeed)"},
    zero.options(3)
}

SIZES = common.sizes(zero.batch_axes)

function PAS(graph, resource)
    local axes, batch = zero.axes(resource), zero.batch_axes(resource)
    common.use_axes("fsdp.lua", resource, {{"dp", "only zero_axis shards"}}, axes)
    common.cut_batch(graph, batch)
    zero.store(graph, resource, resource.options.keep)
    common.schedule(graph, resource)
    common.recompute(graph, resource, true)
    return graph
end
