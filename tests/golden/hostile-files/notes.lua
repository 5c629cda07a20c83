function PAS(graph, resource)
  while true do graph:shard(("z"):rep(10000), {[0] = "tp"}) end
  return graph
end
