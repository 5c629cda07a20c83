-- attention.lua: attention with grouped heads as a template, after the worked examples of
-- Tapestry's template language (crutcher/tapestry, issue 2). hq = g * rep is a mixed radix.

template 'tapestry::attention' {
    inputs = {
        {'q', shape = '[$b..., $hq, $sq, $d]', ipf = '[@b..., @g*$rep + @r, @sq, :]'},
        {'k', shape = '[$b..., $g, $sk, $d]', ipf = '[@b..., @g, :, :]'},
        {'v', shape = '[$b..., $g, $sk, $dv]', ipf = '[@b..., @g, :, @dv]'},
    },
    let = {'$rep = $hq / $g'},
    require = {'$hq % $g == 0'},
    index = '[$b..., $g, $r=$rep, $sq, $dv]',
    outputs = {
        {'o', shape = '[$b..., $hq, $sq, $dv]', ipf = '[@b..., @g*$rep + @r, @sq, @dv]'},
    },
    example = '3x4x5x6,3x2x7x6,3x2x7x8',
}
