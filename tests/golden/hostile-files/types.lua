function PAS(graph, resource)
  graph:shard(print, {[0] = 3})
  return graph
end
