-- insert.lua: a sum over an axis, its projection made by the transform insert.
template "my::sum" {
    params = {axis = "axis of tensor"},
    inputs = {
        {"tensor", shape = "[$shape...]", ipf = {
            transform = "insert",
            index = "$axis",
            source = "[1...]",
            patch = "[0] :> [$shape[$axis]]",
        }},
    },
    index = "[$shape[:$axis]..., $shape[$axis + 1:]...]",
    outputs = {{"result"}},
    example = "5x6x4 axis=1",
}
