-- One rule with a kernel and one without: not all is proven, so the exit code is 1.
register_op('b m k+, b k+ n -> b m n', {name = 'my.bmm', kernel = 'MatMul'})
register_op('a b -> b a', {name = 'my.unknown'})
