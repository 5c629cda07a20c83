function PAS(graph, resource)
  local function forever() while true do end end
  coroutine.wrap(function()
    local x <close> = setmetatable({}, {__close = forever})
    forever()
  end)()
  return graph
end
