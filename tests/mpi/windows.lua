-- Windows of every kind and a running sum, one behind the other: a U-Net in miniature.
function MODEL(model, config)
    local x = model:input("x", "f32", {2, 3, 16, 8})
    local function conv(y, from, to)
        return model:op("Conv", {y, model:param("conv" .. to .. ".weight", {to, from, 3, 3})}, {pads = {1, 1, 1, 1}})
    end
    local skip = model:op("Relu", {conv(x, 3, 4)})
    local y = model:op("MaxPool", {skip}, {kernel_shape = {3, 3}, strides = {2, 2}, pads = {1, 1, 1, 1}})
    y = conv(y, 4, 6)
    y = model:op("ConvTranspose", {y, model:param("up.weight", {6, 4, 4, 4})}, {strides = {2, 2}, pads = {1, 1, 1, 1}})
    y = model:op("Concat", {skip, y}, {axis = 1})
    y = model:op("Resize", {y, false, false, {2, 8, 24, 12}}, {mode = "linear"})
    y = model:op("CumSum", {y, {2}})
    model:output(model:op("ReduceMean", {model:op("Mul", {y, y})}, {keepdims = 0}), "loss")
end
