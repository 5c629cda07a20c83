function PAS(graph, resource)
  local function forever() while true do end end
  while true do xpcall(forever, forever) end
  return graph
end
