-- A table of 64 rows, looked up by the operator of embedding.lua.

function MODEL(model, config)
    local ids = model:input("ids", "i64", {8, 16})
    local table = model:param("table", {64, 32}, "f32")
    model:output(model:op("my::embedding", {ids, table}, {start = 0, stop = 64}), "rows")
end
