-- gpt2_sequence.lua: megatron.lua's cuts for GPT-2, and sequence parallelism between them (Korthikanti
-- et al. 2022): the residual stream is cut by tp along the sequence.
--
-- Look for: in the Comm view each all-reduce of megatron.lua is a reduce-scatter and an all-gather of
-- the same bytes on the wire; in the Graph view the norms and residual adds hold a quarter each, and
-- the peak per device is lower. Compare:
--
--     ./dimscope plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron
--     ./dimscope plan samples/models/gpt2.onnx -m dp=2,tp=4 -p samples/policies/gpt2_sequence.lua

function PAS(graph, resource)
    graph:shard("input_ids", {[0] = "dp"})
    graph:shard("attention_mask", {[0] = "dp"})
    graph:shard("*.attn.c_attn.{weight,bias}", {n = {axis = "tp", interleave = 3}})
    graph:shard("*.attn.c_proj.weight", {k = "tp"})
    graph:shard("*.mlp.c_fc.{weight,bias}", {n = "tp"})
    graph:shard("*.mlp.c_proj.weight", {k = "tp"})
    graph:shard("transformer.h.*.ln_{1,2}.in", {[1] = "tp"})
    return graph
end
