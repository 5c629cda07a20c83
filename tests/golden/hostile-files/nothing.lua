function PAS(graph, resource)
  local nothing = (""):rep(1 << 62)
  table.move({}, 1, 1 << 62, 2)
  return graph
end
