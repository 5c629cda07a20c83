-- elementwise.lua: element-wise operators as templates, after the worked examples of Tapestry's
-- template language (crutcher/tapestry, issue 2).

-- Any number of tensors, broadcast from the right.
template 'tapestry::add' {
    inputs = {
        {'tensors', shape = '[$s[$i]...]', dtype = '$dtype', ipf = '[bcast(@, $s[$i])...]'},
    },
    index = '[broadcast($s)...]',
    outputs = {{'result', dtype = '$dtype'}},
    kernel = 'Sum',
    example = '4x5,5',
}
