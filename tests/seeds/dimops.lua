-- dimops.lua: the operators of the documents on annotations, in a line or two each.
register_op("m^ kd+, kd+ n -> m^ n", {name = "operator", kernel = "MatMul", example = "6x8,8x4"})
register_op("(h^ m^) kd+, kd+ n -> h^ m^ n", {name = "matmul_custom"})
register_op("(h t) k -> h t k", {name = "reshape"})
register_op("* t -> 3 * t", {name = "stack"})
register_op("n c h^ w^, c, c -> n c h^ w^", {name = "my_instance_norm"})
register_op("a (b c) -> (a b) c", {name = "func"})
register_op("a^ b^ -> a^ b^, ?", {name = "op1"})
register_op("a b -> a b, ?", {name = "op2"})
register_op("4 k+, k+ d -> 8 d", {name = "op3"})
register_op("* d^, s -> * s", {name = "op4"})
register_op("m k+, n k+ -> m n", {name = "op5"})
register_op(function(inputs, kwargs)
    if not inputs[2] then return "*, ? -> *" end
    return "*, * -> *"
end, {name = "optional_tensor"})
