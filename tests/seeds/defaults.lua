-- defaults.lua: arguments with default values, an output that is meant to be ?, an optional tensor.
register_op("(h t) k -> h t k", {name = "reshape_by_default", kwargs = {h = 8}})
register_op("a (b c) -> (a b) c", {name = "func_by_default", kwargs = {b = 4}})
register_op("a b -> a b, ?", {name = "op2_meant", independent = {1}})
register_op("a^ b^, ? -> a^ b^", {name = "optional_op"})
