-- gather.lua: rows of a table chosen by data, as templates; after the worked examples of Tapestry's
-- template language (crutcher/tapestry, issue 2).

-- The table is read whole along its rows.
template 'tapestry::gather' {
    inputs = {
        {'ids', shape = '[$batch...]', ipf = '[@batch...]'},
        {'table', shape = '[$v, $d]', ipf = '[:, @d]'},
    },
    index = '[$batch..., $d]',
    outputs = {{'out'}},
    example = '3x7:i64,5x4',
}

-- One-hot times table: shards of the vocabulary give addends. Its kernel has to know its rows, to
-- leave out the ids of others.
template 'tapestry::embedding' {
    inputs = {
        {'ids', shape = '[$batch...]', ipf = '[@batch...]'},
        {'table', shape = '[$v, $d]', ipf = '[@v, @d]'},
    },
    index = '[$batch..., $d]',
    reduce = {sum = '[$v]'},
    outputs = {{'out'}},
    example = '3x7:i64,5x4',
}
