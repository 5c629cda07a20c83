function PAS(graph, resource)
  graph:shard("x", {[1] = "tp"})
  return graph
end
