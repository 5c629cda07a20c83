local layers = include "lib/layers"

function MODEL(model, config)
    local x = model:input("x", "f32", {"batch", 8})
    model:module("mlp", function()
        x = layers.linear(model, "fc", x, 8, 16)
        x = model:op("Relu", {x, x})
    end)
    model:output(x)
end
