#!/usr/bin/env lua
function PAS(graph, resource)
  graph:shard("x", {[2] = "tp"})
  return graph
end
