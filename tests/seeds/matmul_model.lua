-- matmul_model.lua: x [12, 8] times w [8, 16] by an operator of the file ops.lua or by MatMul.
function MODEL(model, config)
    local x = model:input("x", "f32", {12, 8})
    local w = model:param("w", {8, 16})
    model:output(model:op(config.op or "MatMul", {x, w}), "y")
end
