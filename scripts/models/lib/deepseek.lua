-- deepseek.lua: DeepSeek-V2 and V3 (DeepSeek-AI 2024): latent attention, shared and routed experts.

local layers = include "lib/layers"
local attention = include "lib/attention"
local decoder = include "lib/decoder"
local moe = include "lib/moe"
local positions_of = include "lib/rope"

local deepseek = {}

-- ---- latent attention (MLA) ----

local EPSILON = 1e-6 -- of the norms of latents, whatever rms_norm_eps says

-- Neighbours are turned together here, halves in attention.rope: x0 x1 x2 x3 -> x0 x2 x1 x3. A config
-- may say that its weights are in that order already.
local function rope(model, x, n_heads, d, tables)
    if not model:flag("rope_interleave", true) then return attention.rope(model, x, tables) end
    x = model:op("Reshape", {x, {0, n_heads, -1, d // 2, 2}})
    x = model:op("Transpose", {x}, {perm = {0, 1, 2, 4, 3}})
    return attention.rope(model, model:op("Reshape", {x, {0, n_heads, -1, d}}), tables)
end

local function split_last(model, x, first, second)
    return model:op("Split", {x, {first, second}}, {axis = -1}, 2)
end

local function queries(model, x, n)
    if not n.q_rank then return layers.linear(model, "q_proj", x, n.width, n.heads * n.head) end
    local q = layers.linear(model, "q_a_proj", x, n.width, n.q_rank, {bias = n.bias})
    q = layers.rms_norm(model, "q_a_layernorm", q, n.q_rank, EPSILON)
    return layers.linear(model, "q_b_proj", q, n.q_rank, n.heads * n.head)
end

-- Attention over a cache of latents, [b, 1, t, kv_rank], and rotary keys: what makes keys of latents
-- is applied to the queries, what makes values to what attention gives, so that the cache is read as
-- it is. The heads of a token are rows: [b, s, h, kv_rank].
local function over_latents(model, n, q_plain, q_turned, past, new, scale, mask)
    local weight = model:module("kv_b_proj", function()
        return model:param("weight", {n.heads * (n.nope + n.v), n.kv_rank})
    end)
    weight = model:op("Reshape", {weight, {n.heads, n.nope + n.v, n.kv_rank}})
    local of_keys, of_values = model:op("Split", {weight, {n.nope, n.v}}, {axis = 1}, 2)
    local function rows(x) return model:op("Transpose", {x}, {perm = {0, 2, 1, 3}}) end
    local q = rows(model:op("MatMul", {q_plain, of_keys}))
    q_turned = rows(q_turned)
    local function scores(i, latents, keys)
        local function product(a, b)
            return model:op("MatMul", {a, model:op("Transpose", {b}, {perm = {0, 1, 3, 2}})})
        end
        local s = model:op("Add", {product(q, latents), product(q_turned, keys)})
        s = model:op("Mul", {s, scale + 0.0})
        if model:dim("seq") == 1 then return s end
        return model:op("Add", {s, model:op("Unsqueeze", {mask.part(i), {1}})})
    end
    local y = attention.softmax_of_parts(model,
        {scores(1, past[1], past[2]), scores(2, new[1], new[2])}, {past[1], new[1]})
    y = model:op("MatMul",
        {rows(y), model:op("Transpose", {of_values}, {perm = {0, 2, 1}})})
    return attention.merge_heads(model, y, n.heads, n.v)
end

-- Keys and values of all heads from one vector of kv_rank numbers a token, which is what a cache
-- would hold, and one rotary key that the heads share.
function deepseek.attention(model, x, n, tables, scale, mask)
    return model:module("self_attn", function()
        local q = attention.split_heads(model, queries(model, x, n), n.heads, n.head)
        local q_plain, q_turned = split_last(model, q, n.nope, n.rope)
        q_turned = rope(model, q_turned, n.heads, n.rope, tables)

        local latent = layers.linear(model, "kv_a_proj_with_mqa", x, n.width, n.kv_rank + n.rope,
            {bias = n.bias})
        local kv, key = split_last(model, latent, n.kv_rank, n.rope)
        key = rope(model, model:op("Unsqueeze", {key, {1}}), 1, n.rope, tables)
        kv = layers.rms_norm(model, "kv_a_layernorm", kv, n.kv_rank, EPSILON)
        local past = mask.cached and attention.remember(model, mask.window,
            {{"latent", model:op("Unsqueeze", {kv, {1}}), 1, n.kv_rank}, {"rope", key, 1, n.rope}})
        if past then
            local y = over_latents(model, n, q_plain, q_turned, past,
                {model:op("Unsqueeze", {kv, {1}}), key}, scale, mask)
            return layers.linear(model, "o_proj", y, n.heads * n.v, n.width, {bias = n.bias})
        end
        kv = layers.linear(model, "kv_b_proj", kv, n.kv_rank, n.heads * (n.nope + n.v))
        kv = attention.split_heads(model, kv, n.heads, n.nope + n.v)
        local k_plain, v = split_last(model, kv, n.nope, n.v)
        key = model:op("Expand", {key, {1, n.heads, 1, 1}})

        q = model:op("Concat", {q_plain, q_turned}, {axis = -1})
        local k = model:op("Concat", {k_plain, key}, {axis = -1})
        local y = attention.attend(model, q, k, v, {scale = scale, mask = mask, uncached = true})
        y = attention.merge_heads(model, y, n.heads, n.v)
        return layers.linear(model, "o_proj", y, n.heads * n.v, n.width, {bias = n.bias})
    end)
end

-- ---- experts ----

-- Experts outside of the best groups are never chosen. of_group(scores): [b, s, groups, e / groups]
-- -> [b, s, groups].
local function limit_groups(model, scores, options, of_group)
    local groups, kept = options.groups, options.top_groups
    if groups == kept then return scores end
    local each = options.experts // groups
    local parts = model:op("Reshape", {scores, {0, 0, groups, each}})
    local best = of_group(parts)
    local _, chosen = model:op("TopK", {best, {kept}}, {axis = -1}, 2)
    local zero = model:op("Expand",
        {model:constant("out", "f32", {1}, {0}), model:op("Shape", {best})})
    local one = model:op("Expand",
        {model:constant("in", "f32", {1}, {1}), model:op("Shape", {chosen})})
    local mask = model:op("ScatterElements", {zero, chosen, one}, {axis = -1})
    local in_group = model:op("Greater",
        {model:op("Unsqueeze", {mask, {3}}), model:constant("half", "f32", {}, {0.5})})
    parts = model:op("Where", {in_group, parts, model:constant("none", "f32", {}, {-1e30})})
    return model:op("Reshape", {parts, {0, 0, options.experts}})
end

-- V2: softmax; a group is as good as its best expert.
local function choose_by_softmax(model, x, options)
    local scores = model:op("Softmax", {moe.scores(model, x, options)}, {axis = -1})
    local limited = limit_groups(model, scores, options, function(parts)
        return model:op("ReduceMax", {parts, {3}}, {keepdims = 0})
    end)
    local weights, chosen = model:op("TopK", {limited, {options.top_k}}, {axis = -1}, 2)
    return moe.weigh(model, weights, options), chosen
end

-- V3: sigmoid; a bias that evens the load out takes part in the choice, not in the weights; a group
-- is as good as its best two experts. options.bias_outside: the bias is beside the gate, not in it;
-- bias_name: "e_score_correction_bias"; false: there is none.
function deepseek.choose_by_sigmoid(model, x, options)
    local scores = model:op("Sigmoid", {moe.scores(model, x, options)})
    local function add_bias()
        if options.bias_name == false then return scores end
        local bias = model:param(options.bias_name or "e_score_correction_bias", {options.experts}, "f32")
        return model:op("Add", {scores, bias})
    end
    local even = options.bias_outside and add_bias() or model:module("gate", add_bias)
    local limited = limit_groups(model, even, options, function(parts)
        local best = model:op("TopK", {parts, {2}}, {axis = -1}, 2)
        return model:op("ReduceSum", {best, {3}}, {keepdims = 0})
    end)
    return moe.choose_by(model, limited, scores, options)
end

-- Groups of experts, and how many of them a token may choose from.
function deepseek.groups(model, n_experts, top_k, sigmoid)
    if not sigmoid and model:text("topk_method", "greedy") == "greedy" then return 1, 1 end
    local groups = model:size("n_group", 1)
    local kept = model:size("topk_group", groups)
    if n_experts % groups ~= 0 then
        model:refuse("n_group", "is " .. groups .. ", which does not divide " .. n_experts
            .. " experts")
    end
    if kept > groups or kept * (n_experts // groups) < top_k then
        model:refuse("topk_group", "is " .. kept .. ": so many of " .. groups .. " groups of "
            .. n_experts // groups .. " experts have no " .. top_k .. " to choose")
    end
    return groups, kept
end

local function moe_options(model, config, scoring)
    local sigmoid = model:text("scoring_func", scoring or "softmax") == "sigmoid"
    local options = moe.options(model, config, "n_routed_experts")
    options.groups, options.top_groups = deepseek.groups(model, options.experts, options.top_k, sigmoid)
    options.scale = model:number("routed_scaling_factor", 1)
    options.choose = sigmoid and deepseek.choose_by_sigmoid or choose_by_softmax
    local shared = config.n_shared_experts == 0 and 0 or model:size("n_shared_experts", 0)
    options.shared = shared > 0 and function(x)
        return layers.gated_mlp(model, "shared_experts", x, options.width, shared * options.hidden,
            {act = options.act})
    end
    return options
end

-- The function that builds the MLP of a layer, experts behind the first layers, and the options of
-- these. scoring: "sigmoid" where the config does not say it.
function deepseek.experts_or_mlp(model, config, scoring)
    local options = moe_options(model, config, scoring)
    local n_dense, every = model:number("first_k_dense_replace", 0), model:size("moe_layer_freq", 1)
    local kinds = type(config.mlp_layer_types) == "table" and config.mlp_layer_types
    local function is_sparse(i)
        if kinds then return kinds[i + 1] == "sparse" end
        return i >= n_dense and i % every == 0
    end
    return function(x, i)
        if is_sparse(i) then return moe.mixture(model, "mlp", x, options) end
        return layers.gated_mlp(model, "mlp", x, options.width, model:size("intermediate_size"),
            {act = options.act})
    end, options
end

-- scoring: as above.
function deepseek.build(model, config, scoring)
    local mlp, options = deepseek.experts_or_mlp(model, config, scoring)
    local n = {
        width = options.width, heads = model:size("num_attention_heads"),
        q_rank = config.q_lora_rank and model:size("q_lora_rank"),
        kv_rank = model:size("kv_lora_rank"), nope = model:size("qk_nope_head_dim"),
        rope = model:size("qk_rope_head_dim"), v = model:size("v_head_dim"),
        bias = model:flag("attention_bias", false)}
    if n.rope % 2 ~= 0 then
        model:refuse("qk_rope_head_dim", "is odd, and numbers are turned in pairs")
    end
    n.head = n.nope + n.rope
    local scale
    decoder.build(model, config, {
        sizes = decoder.sizes(model, config, {head_dim = n.head}), -- heads need not divide the width
        rope = function(positions)
            scale = n.head ^ -0.5 * positions_of.score_scale(model, config)
            return positions_of.tables(model, config, positions, n.rope)
        end,
        attention = function(x, tables, mask)
            return deepseek.attention(model, x, n, tables, scale, mask)
        end,
        mlp = mlp})
end

return deepseek
