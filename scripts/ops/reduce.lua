-- reduce.lua: operators along one axis as templates, after the worked examples of Tapestry's
-- template language (crutcher/tapestry, issue 2). The three sums say one thing.

-- By a named dim that is summed over.
template 'tapestry::sum' {
    params = {axis = 'axis of tensor'},
    inputs = {
        {'tensor', shape = '[$pre...($axis), $n, $post...]', ipf = '[@pre..., @n, @post...]'},
    },
    index = '[$pre..., $post...]',
    reduce = {sum = '[$n]'},
    outputs = {{'result'}},
    example = '5x6x4 axis=1',
}

-- By slices of the shape, and a D map whose zero is the axis.
template 'tapestry::sum_thread' {
    params = {axis = 'axis of tensor'},
    inputs = {
        {'tensor', shape = '[$shape...]', ipf = {
            map = '[1...[:$axis]..., 0, 1...[$axis + 1:]...]',
            shape = '[1...[:$axis]..., $shape[$axis], 1...[$axis + 1:]...]',
        }},
    },
    index = '[$shape[:$axis]..., $shape[$axis + 1:]...]',
    outputs = {{'result', ipf = 'D[1...]'}},
    example = '5x6x4 axis=1',
}

-- By a row put into the identity.
template 'tapestry::sum_insertrow' {
    params = {axis = 'axis of tensor'},
    inputs = {
        {'tensor', shape = '[$shape...]', ipf = {
            transform = 'insertRow',
            source = '[1...]',
            index = '$axis',
            row = '[0... | 0 | $shape[$axis] ]',
        }},
    },
    index = '[$shape[:$axis]..., $shape[$axis + 1:]...]',
    outputs = {{'result'}},
    example = '5x6x4 axis=1',
}

-- The axis is read and written whole, so nothing cuts it.
template 'tapestry::softmax' {
    params = {axis = 'axis of x'},
    inputs = {
        {'x', shape = '[$pre...($axis), $n, $post...]', ipf = '[@pre..., :, @post...]'},
    },
    index = '[$pre..., $post...]',
    outputs = {{'y', shape = '[$pre..., $n, $post...]', ipf = '[@pre..., :, @post...]'}},
    kernel = 'Softmax',
    example = '5x6x4 axis=1',
}
