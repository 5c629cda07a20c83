local layers = include "lib/layers"

function MODEL(model)
    local x = model:input("x", "f32", {4, 8})
    local y = layers.linear(model, "up", x, 8, 16)
    y = model:op("Reshape", {y, {0, 3, 5}}) -- of 16
    model:output(layers.linear(model, "down", y, 16, 8), "y")
end
