-- short.lua: the index space of a sum with the slice of the document, which leaves a dim out.
template "my::short" {
    params = {axis = "axis of tensor"},
    inputs = {
        {"tensor", shape = "[$shape...]",
            ipf = "[1...[:$axis]..., 0, 1...[$axis + 1:]...] :> [1...[:$axis]..., $shape[$axis], 1...[$axis + 1:]...]"},
    },
    index = "[$shape[:$axis - 1]..., $shape[$axis + 1:]...]",
    outputs = {{"result"}},
}
