-- What `rule` shows of operators of a file, and what it says of their annotations.
register_op("a b -> a", {name = "my::lossy"})
register_op({"* (h t) -> * h t",
             "h t -> (h t) n"}, {name = "my::heads", flops_per_point = 3})
register_op("b h^ : /b, b h^ -> b h^", {
  name = "my::ring", inplace = {[0] = 0},
  rules = {{ins = {"D(1)", "D(1)"}, outs = {"D(1)"}, kwargs = function(k) return k end},
           {ins = {"V", "R"}, outs = {"V"}}},
  comm = {{kind = "permute", dim = "h", bytes = 64}}, cost = function() return {us = 1} end,
  kernel = {plugin = "./libring.so", symbol = "ring"},
})
