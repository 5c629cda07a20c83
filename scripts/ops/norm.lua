-- norm.lua: normalisation as a template, after the worked examples of Tapestry's template language
-- (crutcher/tapestry, issue 2). The normalised dims are read and written whole.

template 'tapestry::layer_norm' {
    params = {axis = 'axis of x'},
    inputs = {
        {'x', shape = '[$batch...($axis), $norm...]', ipf = '[@batch..., :...]'},
        {'scale', shape = '[$norm...]', ipf = '[:...]'},
        {'bias', shape = '[$norm...]', ipf = '[:...]'},
    },
    index = '[$batch...]',
    outputs = {
        {'y', shape = '[$batch..., $norm...]', ipf = '[@batch..., :...]'},
        {'mean'},
        {'rstd'},
    },
    example = '5x6x4,4,4 axis=2',
}
