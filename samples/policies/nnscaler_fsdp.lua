-- nnscaler_fsdp.lua: nnScaler's policy `fsdp` (pas_fsdp), by plans of ops. Every node runs whole on
-- the one device of its scale unit, modules of RECOMPUTE are computed again in the backward pass,
-- each by itself.
--
-- Who stores which part of a parameter is no matter of nnScaler's plan, but of its ZeRO options; here
-- scripts/policies/fsdp.lua says it. nnScaler finds modules by their class, which a model file does
-- not have: here by the path up to the number of the layer.

local RECOMPUTE = {"^h%.%d+$", "%.h%.%d+$", "layers?%.%d+$", "encoder_layer_%d+$", "blocks%.%d+$"}

-- The innermost module of the node that is computed again; nil: none is.
local function module_of(node)
    for i = #node.modules, 1, -1 do
        for _, pattern in ipairs(RECOMPUTE) do
            if node.modules[i]:find(pattern) then return node.modules[i] end
        end
    end
end

function POLICY(graph, resource)
    if resource.ngpus ~= 1 then error("fsdp plans one scale unit of one device: -m dp=1") end
    local id, module = -1, nil
    for _, node in ipairs(get_pas_ops(graph)) do
        local current = module_of(node)
        if current and current ~= module then id = id + 1 end
        module = current
        if current then coroutine.yield {op = node, recompute_id = id} end
    end
end
