-- torch_rules.lua: sharding propagation of the user, by a rule and by strategies.
register_op("b d^, d^, d^ -> b d^", {name = "my::norm"})
register_strategy("my::norm", {rule = function(inputs, attrs)
    for i = 2, 3 do
        for _, placement in ipairs(inputs[i].placements) do
            if placement ~= "R" then
                return {suggest = {inputs[1].placements, {"R"}, {"R"}}, why = "weights are replicated"}
            end
        end
    end
    return {outputs = {inputs[1].placements}}
end})
register_op("b d^, d^, d^ -> b d^", {name = "my::norm2"})
register_strategy("my::norm2", function(inputs, attrs)
    return {"R,R,R -> R", "S(0),R,R -> S(0)"}
end)
