-- window.lua: operators on windows as templates, after the worked examples of Tapestry's template
-- language (crutcher/tapestry, issue 2). Clip is the padding, a coefficient the stride.

template 'tapestry::conv2d' {
    params = {stride = 'int = 1', pad = 'int = 0', dil = 'int = 1'},
    inputs = {
        {'X', shape = '[$n, $ci, $h, $w]', clip = true,
            ipf = '[@n, @ci, @oh*$stride + @kh*$dil - $pad, @ow*$stride + @kw*$dil - $pad]'},
        {'F', shape = '[$co, $ci, $kh, $kw]', ipf = '[@co, @ci, @kh, @kw]'},
    },
    index = '[$n, $co, ' ..
        '$oh=($h + 2*$pad - $dil*($kh - 1) - 1) / $stride + 1, ' ..
        '$ow=($w + 2*$pad - $dil*($kw - 1) - 1) / $stride + 1]',
    reduce = {sum = '[$ci, $kh, $kw]'},
    outputs = {{'Y'}},
    example = '2x3x7x6,4x3x3x2 stride=2 pad=1',
}

template 'tapestry::max_pool' {
    params = {k = 'int', stride = 'int = $k', pad = 'int = 0'},
    inputs = {
        {'X', shape = '[$batch..., $h, $w]', clip = true,
            ipf = '[@batch..., @oh*$stride + @kh - $pad, @ow*$stride + @kw - $pad]'},
    },
    index = '[$batch..., ' ..
        '$oh=($h + 2*$pad - $k) / $stride + 1, ' ..
        '$ow=($w + 2*$pad - $k) / $stride + 1]',
    reduce = {max = '[$kh=$k, $kw=$k]'},
    outputs = {{'Y'}},
    example = '2x3x7x6 k=3 stride=2 pad=1',
}
