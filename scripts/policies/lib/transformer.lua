-- lib/transformer.lua: where things are in a transformer. Modules are found by their paths, so that
-- it is the same whatever exporter wrote the model.

-- The modules that norm the residual stream, by the last part of their paths.
local NORMS = "*{ln,ln_1,ln_2,ln_f,.norm,layernorm,layer_norm,LayerNorm}.in"

-- The residual stream [batch, sequence, width] wherever a norm reads it, in program order. Norms of
-- something else, of heads or of a latent, are of another width.
local function residuals(graph)
    local found, width = {}, nil
    for _, tensor in ipairs(graph:tensors(NORMS)) do
        local shape = tensor.shape or {}
        width = width or #shape == 3 and shape[3]
        if #shape == 3 and shape[3] == width then found[#found + 1] = tensor end
    end
    return found
end

-- Cuts it along the sequence. All that works on one place of the sequence at a time follows: norms,
-- residual adds, the embedding, the ids. False, with a note, where there is nothing to cut.
local function cut_sequence(graph, axis)
    local found = residuals(graph)
    if #found == 0 then
        print("no norm of [batch, sequence, width] was found: the sequence stays whole")
    elseif found[1].shape[2] == 1 then
        print("a sequence of 1 stays whole")
    else
        graph:shard(found, {[1] = axis})
        return true
    end
    return false
end

-- Keys and values of few heads, [batch, heads, 1, sequence, head size], that an Expand repeats for
-- the query heads of each.
local function heads_to_repeat(graph)
    local found = {}
    for _, node in ipairs(graph:nodes()) do
        local few = node.name == "Expand" and node:input(0)
        local shape, repeated = few and few.shape or {}, node:output(0).shape or {}
        if #shape == 5 and #repeated == 5 and shape[3] == 1 and repeated[3] > 1 then
            found[#found + 1] = few
        end
    end
    return found
end

-- Matmuls in pairs, by family: a parameter that tells it, the weights of which each device takes
-- columns, then those of which it takes rows.
local PAIRS = {
    -- DeepSeek: keys and values come by heads from one narrow vector, which stays whole.
    {"*.kv_b_proj.weight", {"*.{q_proj,q_b_proj,kv_b_proj}.weight", "*.{gate_proj,up_proj}.weight"},
     {"*.o_proj.weight", "*.down_proj.weight"}},
    -- T5
    {"*.SelfAttention.q.weight",
     {"*Attention.{q,k,v}.weight", "*.DenseReluDense.{wi,wi_0,wi_1}.weight"},
     {"*Attention.o.weight", "*.DenseReluDense.wo.weight"}},
    -- BERT, and ViT and Swin of transformers: both second matmuls are called output.dense.
    {"*.query.weight", {"*.{query,key,value}.weight", "*.intermediate.dense.weight"},
     {"*.output.dense.weight"}},
}

-- Cuts the first family's that is there. False where none is.
local function cut_pairs(graph, axis)
    for _, family in ipairs(PAIRS) do
        if #graph:tensors(family[1]) > 0 then
            graph:shard(family[2], {n = axis})
            graph:shard(family[3], {k = axis})
            return true
        end
    end
    return false
end

return {cut_pairs = cut_pairs, cut_sequence = cut_sequence, heads_to_repeat = heads_to_repeat}
