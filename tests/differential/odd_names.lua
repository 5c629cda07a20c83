-- odd_names.lua: a model whose names end texts and comments, stand for others, or look like code.
-- As a policy it cuts its weights.

local NAMES = {
    "h.0.\"w\"", "h.1.\"w\"", "h.2.\"w\"", "back\\slash", "line\nend", "cr\rtab\t", "{i}{{0}}", "%d%s%%",
    "'''\"\"\"", "]]--]=]", "*/ // --", "a*b?{c,d}", "\u{202E}rtl", "caf\u{E9}", "\127" .. "5 del", "\1\2 3",
    "<b>&amp;</b>", "a\\1275", "$(x) `y`", "end) os.exit()", "h.01", "h.02", " lead trail ", ("x"):rep(390),
}

function MODEL(model)
    local x = model:input("input\"\\\n0", "f32", {8, 8})
    for _, name in ipairs(NAMES) do
        model:module(name, function() x = model:op("MatMul", {x, model:param(name, {8, 8})}) end)
    end
    model:output(x, "y\n\"")
end

function PAS(graph)
    for i, parameter in ipairs(graph:params()) do
        graph:pin(parameter.name, {[i % 2] = "tp"})
    end
    graph:shard("input*", {[0] = "dp"})
    return graph
end
