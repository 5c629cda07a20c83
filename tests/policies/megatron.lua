-- megatron.lua: for tests: the pairs of matmuls of some families by the names of their modules, with
-- the vocabulary whole. Tests of screens and exports count its lines and what they decide.
--
-- What: tp cuts pairs of matmuls, the first by columns (n), the second by rows (k): attention by
--     heads, the MLP by its hidden dim. Forward that is two all-reduces a layer, nothing else. dp
--     cuts the batch dim of each input. Modules are found by path: one file does for GPT-2, Llama
--     and its kin, DeepSeek, T5, BERT, ViT and Swin, whatever exporter wrote them.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron
--     24 all_reduce; step 15.8 ms, moved 432.0 MiB, peak 1.1 GiB
-- Axes: dp, tp. One may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Shoeybi et al. 2019, Megatron-LM, arXiv 1909.08053.

local common = include "lib/common"

-- true: the embedding and the head are cut by vocabulary too. That is one more all-reduce, after the
-- embedding, and logits that stay cut.
local CUT_VOCABULARY = false

-- q, k and v are one weight of three parts: each rank takes its heads of all three.
local function cut_gpt2(graph)
    graph:shard("*.attn.c_attn.{weight,bias}", {n = {axis = "tp", interleave = 3}})
    graph:shard("*.attn.c_proj.weight", {k = "tp"})
    graph:shard("*.mlp.c_fc.{weight,bias}", {n = "tp"})
    graph:shard("*.mlp.c_proj.weight", {k = "tp"})
end

-- Key and value heads, seen where k_proj's output becomes [batch, seq, heads, head size].
local function count_kv_heads(graph)
    for _, out in ipairs(graph:tensors("*.k_proj.out")) do
        for _, node in ipairs(out:consumers()) do
            local shape = node.name == "Reshape" and node:output(0).shape or {}
            if #shape == #out.shape + 1 then return shape[#shape - 1] end
        end
    end
end

-- With fewer key and value heads than devices, neighbours share one: the major part of tp cuts the
-- heads, and Expand hands the rest to the query heads of each. A single head stays whole.
local function cut_kv(graph, tp)
    local heads = count_kv_heads(graph) or tp
    local axis = heads < tp and tp % heads == 0 and "tp:(1)" .. heads or "tp"
    if heads > 1 then graph:shard("*.{k_proj,v_proj}.weight", {n = axis}) end
end

local function cut_llama(graph, tp)
    graph:shard("*.q_proj.weight", {n = "tp"})
    cut_kv(graph, tp)
    graph:shard("*.o_proj.weight", {k = "tp"})
    graph:shard("*.{gate_proj,up_proj,w1,w3}.weight", {n = "tp"})
    graph:shard("*.{down_proj,w2}.weight", {k = "tp"})
end

-- torch's MultiheadAttention: q, k and v are one weight, which exporters rename, with a bias.
local function cut_vit(graph)
    graph:shard("*.self_attention.weight", {n = {axis = "tp", interleave = 3}})
    graph:shard("*.self_attention.out_proj.weight", {k = "tp"})
    graph:shard("*.mlp.0.weight", {n = "tp"})
    graph:shard("*.mlp.3.weight", {k = "tp"})
end

local function cut_vocabulary(graph)
    graph:shard("*{wte,embed_tokens}.weight", {v = "tp"})
    graph:shard("*lm_head.weight", {n = "tp"})
end

local function cut_weights(graph, tp)
    local function has(pattern) return #graph:tensors(pattern) > 0 end
    if has("*.attn.c_attn.weight") then
        cut_gpt2(graph)
    elseif has("*.k_proj.weight") then
        cut_llama(graph, tp)
    elseif has("*.self_attention.in_proj_bias") then
        cut_vit(graph)
    else
        print("no module of GPT-2 (attn.c_attn), Llama (k_proj) or torch's ViT (in_proj_bias): "
            .. "the weights stay whole")
    end
    if CUT_VOCABULARY then cut_vocabulary(graph) end
end

function PAS(graph, resource)
    common.use_axes("megatron.lua", resource, {
        {"dp", "the batch stays whole"},
        {"tp", "the weights stay whole"},
    })
    if resource.mesh.dp then
        common.cut_batch(graph, "dp")
    end
    if resource.mesh.tp then
        cut_weights(graph, resource.mesh.tp)
    end
    return graph
end

return {cut_weights = cut_weights}
