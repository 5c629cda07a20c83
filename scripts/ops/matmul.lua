-- matmul.lua: matrix products as templates, with the inner dim read whole and with it summed over;
-- after the worked examples of Tapestry's template language (crutcher/tapestry, issue 2).

-- The language's first example: D maps, and the inner dim as a window.
template 'tapestry::matmul_thread' {
    index = '[$batch..., $in_row, $out_col]',
    constraints = {
        dtype = {enum = {'int32', 'int64', 'float32', 'float64', 'complex64', 'complex128'}},
    },
    inputs = {
        {'X', shape = '[$batch..., $in_row, $inner]', dtype = '$dtype',
            ipf = '[..., 1, 0] :> [..., 1, $inner]'},
        {'W', shape = '[$batch..., $inner, $out_col]', dtype = '$dtype',
            ipf = '[..., 0, 1] :> [..., $inner, 1]'},
    },
    outputs = {{'result', dtype = '$dtype'}},
    kernel = 'MatMul',
    example = '5x6,6x7',
}

-- The same with the inner dim exposed; absorbing it gives the windows of the above.
template 'tapestry::matmul' {
    index = '[$batch..., $row, $col]',
    reduce = {sum = '[$inner]'},
    inputs = {
        {'X', shape = '[$batch..., $row, $inner]', ipf = '[@batch..., @row, @inner]'},
        {'W', shape = '[$batch..., $inner, $col]', ipf = '[@batch..., @inner, @col]'},
    },
    outputs = {{'result'}},
    kernel = 'MatMul',
    example = '3x5x6,3x6x7',
}

-- The inner dim stays a window: a bias must not be added once per shard of a sum.
template 'tapestry::linear' {
    index = '[$batch..., $out]',
    inputs = {
        {'x', shape = '[$batch..., $in]', ipf = '[@batch..., :]'},
        {'A', shape = '[$in, $out]', ipf = '[:, @out]'},
        {'b', shape = '[$out]', optional = true, ipf = '[@out]'},
    },
    outputs = {{'result'}},
    example = '3x5x6,6x7,7',
}

-- Batch dims broadcast.
template 'tapestry::bmm' {
    index = '[$batch=broadcast($xb, $wb)..., $row, $col]',
    reduce = {sum = '[$inner]'},
    inputs = {
        {'X', shape = '[$xb..., $row, $inner]', ipf = '[bcast(@batch, $xb)..., @row, @inner]'},
        {'W', shape = '[$wb..., $inner, $col]', ipf = '[bcast(@batch, $wb)..., @inner, @col]'},
    },
    outputs = {{'result'}},
    kernel = 'MatMul',
    example = '3x5x6,3x6x7',
}
