-- pairs_of_kinds: nodes of two devices, three of them of h100x8 and one of a slower kind, whose
-- links are faster.
local function pair(from, name, share)
    local machine = {}
    for key, value in pairs(include(from)) do machine[key] = value end
    machine.name = name
    machine.devices_per_node = 2
    machine.matmul_share = share
    return machine
end

return {name = "pairs_of_kinds", source = "a test", kinds = {
    {devices = 6, machine = pair("a100x8", "first", 0.9)},
    {devices = 2, machine = pair("h100x8", "last", 0.05)}}}
