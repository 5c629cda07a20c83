-- calibrate.lua: what `dimscope calibrate` runs to find out what a machine can do.
--
-- Products, element-wise ops and lookups from tiny to large, each on whole tensors, so that every
-- rank does all of it; and values that are gathered, reduced, scattered and exchanged along the
-- first axis of the mesh, from 4 KiB to 16 MiB. Other models fit the numbers to their own ops:
--
--   dimscope calibrate -m x=4 -o host.lua
--   dimscope plan model.onnx -m x=4 --machine host.lua

local SIDES = {8, 64, 128, 256, 512, 1024}
local LENGTHS = {64, 4096, 65536, 1048576, 4194304}
local MOVED = {1024, 16384, 131072, 1048576, 4194304} -- elements of 4 bytes

function MODEL(model)
    for _, n in ipairs(SIDES) do
        local a, b = model:input("a" .. n, "f32", {n, n}), model:input("b" .. n, "f32", {n, n})
        model:output(model:op("MatMul", {a, b}), "product" .. n)
    end
    for _, n in ipairs(LENGTHS) do
        local x, y = model:input("x" .. n, "f32", {n}), model:input("y" .. n, "f32", {n})
        model:output(model:op("Add", {x, y}), "sum" .. n)
        model:output(model:op("Tanh", {x}), "tanh" .. n)
        local rows = model:input("rows" .. n, "i64", {n // 64})
        local table = model:input("table" .. n, "f32", {n // 16, 64})
        model:output(model:op("Gather", {table, rows}), "found" .. n)
    end
    for _, n in ipairs(MOVED) do
        local columns = n // 512
        local whole = model:input("to_gather" .. n, "f32", {512, columns})
        model:output(model:op("Neg", {whole}), "gathered" .. n)
        local turned = model:input("to_turn" .. n, "f32", {512, columns})
        model:output(model:op("Neg", {turned}), "turned" .. n)
        for _, way in ipairs{"reduced", "scattered"} do
            local a = model:input("a_" .. way .. n, "f32", {512, 512})
            local b = model:input("b_" .. way .. n, "f32", {512, columns})
            model:output(model:op("MatMul", {a, b}), way .. n)
        end
    end
end

function PAS(graph, resource)
    local axis = resource.mesh[1] and resource.mesh[1].name
    if not axis then return graph end
    for _, n in ipairs(MOVED) do
        graph:shard("to_gather" .. n, {[0] = axis})
        graph:shard("gathered" .. n, {[0] = {}, [1] = {}})
        graph:shard("to_turn" .. n, {[0] = axis})
        graph:shard("turned" .. n, {[0] = {}, [1] = axis})
        for _, way in ipairs{"reduced", "scattered"} do
            graph:shard("a_" .. way .. n, {[1] = axis})
            graph:shard("b_" .. way .. n, {[0] = axis})
        end
        graph:shard("reduced" .. n, {[0] = {}, [1] = {}})
        graph:shard("scattered" .. n, {[0] = axis, [1] = {}})
    end
    return graph
end
