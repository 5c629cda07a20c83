-- sequences.lua: a model of tests/contributed/models in two stages; each element of a sequence is
-- sharded by rows or columns (--set dim=1), and the sequence is sent.
OPTIONS = {
    {"op", "ConcatFromSequence_4", "the first op of the second stage"},
    {"dim", 1, "the dim of x to shard"},
}

function PAS(graph, resource)
    graph:shard("x", {[resource.options.dim] = "x"})
    graph:staging{graph:node(0), graph:op(resource.options.op)}
    for i, stage in ipairs(graph:segments()) do graph:assign(stage, {p = i - 1}) end
    return graph
end
