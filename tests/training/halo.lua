-- Two convolutions in rows of the image, batch and channels whole: each reads rows of its neighbours.
-- In the backward pass windows overlap at the borders of parts, so that rows of gradients go back to the neighbours.
function PAS(graph)
    graph:pin(graph:op("/down/down.0/Conv"), {oh = "sp"})
    graph:pin(graph:op("/block/block.0/Conv"), {oh = "sp"})
    return graph
end
