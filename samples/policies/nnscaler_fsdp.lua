-- nnscaler_fsdp.lua: nnScaler's policy `fsdp` (pas_fsdp), by plans of ops. Every node runs whole on
-- the one device of its scale unit, modules of RECOMPUTE are computed again in the backward pass,
-- each by itself.
--
-- Who stores which part of a parameter is no matter of nnScaler's plan, but of its ZeRO options; here
-- scripts/policies/fsdp.lua says it. nnScaler finds modules by their class, which a model file does
-- not have: here by the path up to the number of the layer.

local RECOMPUTE = {"^h%.%d+$", "%.h%.%d+$", "layers?%.%d+$", "encoder_layer_%d+$", "blocks%.%d+$"}

local found = {} -- by path

-- The innermost module of the node that is computed again; false: none is.
local function module_of(node)
    local path = node.path
    if found[path] ~= nil then return found[path] end
    found[path] = false
    for _, module in ipairs(node.modules) do
        for _, pattern in ipairs(RECOMPUTE) do
            if module:find(pattern) then found[path] = module end
        end
    end
    return found[path]
end

function POLICY(graph, resource)
    if resource.ngpus ~= 1 then error("fsdp plans one scale unit of one device: -m dp=1") end
    local id, module = -1, false
    for _, node in ipairs(get_pas_ops(graph)) do
        local current = module_of(node)
        if current and current ~= module then id = id + 1 end
        module = current
        if current then coroutine.yield {op = node, recompute_id = id} end
    end
end
