-- shape.lua: operators that move elements as templates, after the worked examples of Tapestry's
-- template language (crutcher/tapestry, issue 2). A tensor that is clipped away whole is an empty
-- part of the shard.

template 'tapestry::concat' {
    params = {axis = 'axis of tensors'},
    inputs = {
        {'tensors', shape = '[$pre...($axis), $n[$i], $post...]', clip = true,
            ipf = '[@pre..., @cat - cumsum($n)[$i], @post...]'},
    },
    index = '[$pre..., $cat=sum($n), $post...]',
    outputs = {{'result'}},
    kernel = 'Concat',
    example = '4x5,4x3 axis=1',
}

template 'tapestry::split' {
    params = {axis = 'axis of tensor', chunk_size = 'int'},
    inputs = {{'tensor', shape = '[$pre...($axis), $n, $post...]'}},
    index = '[$pre..., $n, $post...]',
    outputs = {
        {'parts', each = '$i = cdiv($n, $chunk_size)', clip = true,
            shape = '[$pre..., min($chunk_size, $n - $i*$chunk_size), $post...]',
            ipf = '[@pre..., @n - $i*$chunk_size, @post...]'},
    },
    example = '5x9->5x4,5x4,5x1 axis=1 chunk_size=4',
}

template 'tapestry::transpose' {
    params = {perm = 'perm of tensor'},
    inputs = {{'tensor', shape = '[$s...]', ipf = '[@[inv($perm)]...]'}},
    index = '[$s[$perm]...]',
    outputs = {{'result'}},
    kernel = 'Transpose',
    example = '5x6x4 perm=[2,0,1]',
}
