function PAS(graph, resource)
  graph:shard("x", {[1] = "pp"})
  return graph
end
