-- The operators of custom_op.pt2, as the findings about them say.
register_op("a^ b^ c^ -> a^ b^ c^", {name="mylib::rotate_half"})
register_op("a^ b^ c^ -> a^ b^ 2, a^ b^ 2", {name="mylib::topk_route"})

function PAS(graph)
    return graph
end
