-- An operator by a template: the rows of a tensor, each times a number, summed.
template 'my::row_sums' {
    params = {scale = 'int = 1'},
    inputs = {
        {'x', shape = '[$rows, $n]', ipf = '[@rows, @n]'},
        {'b', shape = '[$rows]', optional = true, ipf = '[@rows]'},
    },
    require = {'$scale > 0'},
    index = '[$rows]',
    reduce = {sum = '[$n]'},
    outputs = {{'sums'}},
}
