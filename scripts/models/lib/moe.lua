-- moe.lua: mixtures of experts, in the form that expert parallelism cuts (GShard, Lepikhin et al.
-- 2020).
--
-- A group is one sequence of the batch. In it each expert has a queue of c places,
--
--     c = min(s, ceil(capacity_factor * k * s / e))
--
-- s tokens, each to k of e experts. Tokens join queues in their order; one that finds no place is
-- not computed by that expert, as if its weight were 0. So experts compute e c places a group:
-- capacity_factor times the flops of k experts a token, not those of all e. 1 is the default: no
-- place is empty and none is missing where experts are chosen equally often.
--
-- capacity_factor "dropless" drops no token: a row for each token and expert it chose, [b, e, s,
-- width], where rows that nobody chose are 0 and count as not there (MegaBlocks, Gale et al. 2022).
-- How many each rank gets is known when the router has run; plans take what expert_load says:
-- balanced (the default), worst, or a share for each expert. So it is in a step of decoding, where a
-- group is the batch: queues of one token would have a place each, of which k are taken.
--
-- Whatever is done for a token or a group is cut by batch; what experts do, [b, e, c, width], by e
-- too: between the two stand the all-to-alls, one to the experts and one back. Rows are fetched by
-- Gather, which has no flops; the one-hot products of the paper are not made.
--
-- Shapes: b batch, s tokens, e experts, k chosen, c places, n and k of a matmul.

local layers = include "lib/layers"
local attention = include "lib/attention"

local moe = {}

-- That number everywhere, in the sizes that an i64 list says.
local function filled(model, number, sizes)
    return model:op("Expand", {{number}, sizes})
end

-- c, as above, of s tokens: known as soon as s is.
local function capacity(model, n_tokens, options)
    local share = math.tointeger(math.ceil(1000 * (options.capacity_factor or 1)))
    local whole = 1000 * options.experts
    local places = model:op("Mul", {n_tokens, {share * options.top_k}})
    places = model:op("Add", {places, {whole - 1}})
    return model:op("Min", {model:op("Div", {places, {whole}}), n_tokens})
end

-- The queues of all experts. chosen: i64 [b, s, k], experts of each token; no token names one
-- twice. Gives
--     source    i64 [b, e c]     the token in each place; 0 where there is none
--     place     i64 [b, s, k]    where each token stands, of e c; 0 where it found none
--     kept      bool [b, s, k]   whether it stands anywhere
local function queues(model, x, chosen, options)
    local batch = model:op("Slice", {model:op("Shape", {x}), {0}, {1}})
    local n_tokens = model:op("Slice", {model:op("Shape", {x}), {1}, {2}})
    local by_expert = model:op("Concat", {batch, n_tokens, {options.experts}}, {axis = 0})
    local by_choice = model:op("Shape", {chosen})
    local c = capacity(model, n_tokens, options)

    local joins = model:op("ScatterElements",
        {filled(model, 0, by_expert), chosen, filled(model, 1, by_choice)}, {axis = 2})
    local before = model:op("CumSum", {joins, {1}}, {exclusive = 1})
    before = model:op("GatherElements", {before, chosen}, {axis = 2})
    local kept = model:op("Less", {before, c})
    local place = model:op("Add", {model:op("Mul", {chosen, c}), before})

    -- Who found no place is written into one behind the last, which is cut off.
    local n_places = model:op("Mul", {c, {options.experts}})
    local and_one = model:op("Concat", {batch, model:op("Add", {n_places, {1}})}, {axis = 0})
    local to = model:op("Reshape", {model:op("Where", {kept, place, n_places}), {0, -1}})
    local token = model:op("Unsqueeze", {attention.positions(model, x, 1), {1}})
    token = model:op("Reshape", {model:op("Expand", {token, by_choice}), {0, -1}})
    local source = model:op("ScatterElements", {filled(model, 0, and_one), to, token}, {axis = 1})
    source = model:op("Slice", {source, {0}, n_places, {1}})
    return source, model:op("Where", {kept, place, {0}}), kept
end

-- The load of the experts as ExpertDispatch has it: of what config.expert_load says.
local function load_of(model, options)
    local text = options.load or "balanced"
    if text == "balanced" then return nil, 0 end
    if text == "worst" then return nil, 1 end
    local share, sum, most = {}, 0, 0
    for word in text:gmatch("[^,%s]+") do
        local number = tonumber(word)
        if not number or not (number >= 0) or number == math.huge then
            model:refuse("expert_load", "is balanced, worst, or a share for each expert: '" .. word
                .. "' is no share")
        end
        share[#share + 1], sum, most = number + 0.0, sum + number, math.max(most, number)
    end
    if #share ~= options.experts or sum <= 0 then
        model:refuse("expert_load", ("has %d shares that add up to %g, for %d experts"):format(
            #share, sum, options.experts))
    end
    if most * options.top_k > sum * (1 + 1e-6) then
        model:refuse("expert_load", ("gives one expert %.3g of all choices: a token chooses %d "
            .. "experts, each once, so that at most 1/%d are of one"):format(most / sum,
            options.top_k, options.top_k))
    end
    return share, 0
end

-- The capacity factor of config.capacity_factor, or "dropless"; and the load.
local function capacity_options(model, config, options)
    local factor = config.capacity_factor
    if factor == "dropless" then
        options.dropless = true
    else
        factor = factor == nil and 1 or tonumber(factor)
        if not factor or not (factor > 0) or factor > 1e6 then
            model:refuse("capacity_factor", "is " .. tostring(config.capacity_factor)
                .. ": it is a number above 0 and at most 1e6, or dropless; experts with no place compute nothing")
        end
        options.capacity_factor = factor
    end
    options.load = config.expert_load and tostring(config.expert_load)
    if options.load and options.load ~= "balanced" and not options.dropless then
        print("expert_load says nothing where experts have queues of one length: it needs "
            .. "capacity_factor dropless")
    end
    return options
end

-- A table [b, s, e] with those values of the chosen experts, and zeros.
local function by_expert(model, x, chosen, values, dtype, n_experts)
    local sizes = model:op("Concat",
        {model:op("Slice", {model:op("Shape", {x}), {0}, {2}}), {n_experts}}, {axis = 0})
    local zeros = model:op("Expand", {model:constant("none", dtype, {1}, {0}), sizes})
    return model:op("ScatterElements", {zeros, chosen, values}, {axis = 2})
end

-- exchange() without queues: expert() gets [b, e, s, width].
local function exchange_all(model, x, weights, chosen, options, expert)
    local sent = model:module("dispatch", function()
        local ones = model:op("Expand", {model:constant("one", model.dtype, {1}, {1}),
            model:op("Shape", {chosen})})
        local choice = by_expert(model, x, chosen, ones, model.dtype, options.experts)
        local load, worst = load_of(model, options)
        return model:op("ExpertDispatch", {x, choice},
            {k = options.top_k, load = load, worst = worst})
    end)
    local made = expert(sent)
    return model:module("combine", function()
        local table = by_expert(model, x, chosen, weights, model.dtype, options.experts)
        return model:op("ExpertCombine", {made, table})
    end)
end

-- [b, 1, n] as one group of b tokens.
local function as_group(model, x, n)
    return model:op("Reshape", {x, {1, -1, n}})
end

-- Linear layers of e experts, their weights stacked: weight [e, n_out, n_in]. Checkpoints hold each
-- expert by itself, that of expert i is "i.NAME.weight" there, unless they are `stacked` too.
function moe.linear(model, name, x, n_experts, n_in, n_out, stacked)
    local parts = not stacked and {parts = "*." .. name .. ".weight"} or nil
    local weight = model:param(name .. ".weight", {n_experts, n_out, n_in}, nil, parts)
    return model:module(name, function()
        return model:op("Einsum", {x, weight}, {equation = "beck,enk->becn"})
    end)
end

-- x: [b, s, width]; weights: [b, s, k], how much of each expert; chosen: i64 [b, s, k].
-- expert(x): [b, e, c, width] -> the same, what experts compute. Gives [b, s, width].
-- options: experts, top_k, width, capacity_factor or dropless, load.
function moe.exchange(model, x, weights, chosen, options, expert)
    if options.dropless then return exchange_all(model, x, weights, chosen, options, expert) end
    if model:dim("seq") == 1 then
        local y = exchange_all(model, as_group(model, x, options.width),
            as_group(model, weights, options.top_k), as_group(model, chosen, options.top_k),
            options, expert)
        return model:op("Reshape", {y, {-1, 1, options.width}})
    end
    local source, place, kept
    local sent = model:module("dispatch", function()
        source, place, kept = queues(model, x, chosen, options)
        local y = model:op("GatherND", {x, model:op("Unsqueeze", {source, {2}})}, {batch_dims = 1})
        return model:op("Reshape", {y, {0, options.experts, -1, options.width}})
    end)
    local made = expert(sent)
    return model:module("combine", function()
        local y = model:op("Reshape", {made, {0, -1, options.width}})
        y = model:op("GatherND", {y, model:op("Unsqueeze", {place, {3}})}, {batch_dims = 1})
        local w = model:op("Unsqueeze", {model:op("Where", {kept, weights, 0.0}), {2}})
        return model:op("Squeeze", {model:op("MatMul", {w, y}), {2}})
    end)
end

-- Gated MLPs as experts: down(act(gate(x)) * up(x)). names: of gate, up and down. options: as
-- above; hidden, act.
function moe.gated_experts(model, name, x, names, options)
    local e, width, hidden = options.experts, options.width, options.hidden
    return model:module(name, function()
        local gate = moe.linear(model, names[1], x, e, width, hidden)
        gate = model:module("act_fn", function()
            return layers.activation(model, options.act or "silu", gate)
        end)
        local up = moe.linear(model, names[2], x, e, width, hidden)
        return moe.linear(model, names[3], model:op("Mul", {gate, up}), e, hidden, width)
    end)
end

-- The same from weights that checkpoints stack too, gate and up in one, the gate first:
-- gate_up_proj [e, width, 2 hidden] and down_proj [e, hidden, width], as torch.bmm takes them.
function moe.packed_experts(model, name, x, options)
    local e, width, hidden = options.experts, options.width, options.hidden
    local function linear(name, x, n_in, n_out)
        local weight = model:param(name, {e, n_in, n_out})
        return model:op("Einsum", {x, weight}, {equation = "beck,ekn->becn"})
    end
    return model:module(name, function()
        local y = linear("gate_up_proj", x, width, 2 * hidden)
        local gate, up = model:op("Split", {y}, {axis = -1, num_outputs = 2}, 2)
        y = model:op("Mul", {layers.activation(model, options.act or "silu", gate), up})
        return linear("down_proj", y, hidden, width)
    end)
end

-- Scores of all experts in f32, [b, s, e]: x W^T, with W [e, width]. options: router: the name of
-- the layer, "gate"; router_bias.
function moe.scores(model, x, options)
    local y = layers.linear(model, options.router or "gate", x, options.width, options.experts,
        {bias = options.router_bias})
    return model.dtype == "f32" and y or attention.cast(model, y, "f32")
end

-- Weights of the chosen experts as x has its elements. options: normed: their sum is 1; scale.
function moe.weigh(model, weights, options)
    if options.normed then
        local sum = model:op("ReduceSum", {weights, {2}}, {keepdims = 1})
        weights = model:op("Div", {weights, sum})
    end
    if (options.scale or 1) ~= 1 then
        weights = model:op("Mul",
            {weights, model:constant("scale", "f32", {}, {options.scale})})
    end
    return model.dtype == "f32" and weights or attention.cast(model, weights, model.dtype)
end

-- The best k experts of each token: their softmax over all experts.
function moe.softmax_then_choose(model, x, options)
    local scores = model:op("Softmax", {moe.scores(model, x, options)}, {axis = -1})
    local weights, chosen = model:op("TopK", {scores, {options.top_k}}, {axis = -1}, 2)
    return moe.weigh(model, weights, options), chosen
end

-- The same by softmax over the scores of those chosen, which is that over all, scaled to sum 1.
function moe.choose_then_softmax(model, x, options)
    local scores, chosen = model:op("TopK", {moe.scores(model, x, options), {options.top_k}},
        {axis = -1}, 2)
    local weights = model:op("Softmax", {scores}, {axis = -1})
    return moe.weigh(model, weights, {}), chosen
end

-- Experts are chosen by other numbers than weigh them, such as scores with a bias that evens the load
-- out. by, scores: [b, s, e].
function moe.choose_by(model, by, scores, options)
    local _, chosen = model:op("TopK", {by, {options.top_k}}, {axis = -1}, 2)
    local weights = model:op("GatherElements", {scores, chosen}, {axis = -1})
    return moe.weigh(model, weights, options), chosen
end

-- What stands in place of a gated MLP. options: as above; choose(model, x, options); names: of gate,
-- up and down; shared(x), added to what experts compute, or nil; weighs_input: of the one expert that
-- a token chooses, the input is multiplied by the weight. latent: experts compute with so many numbers
-- of a token, between the layers fc1_latent_proj and fc2_latent_proj.
function moe.mixture(model, name, x, options)
    if options.weighs_input and options.top_k ~= 1 then
        model:refuse("num_experts_per_tok", "is " .. options.top_k
            .. ": where the input of an expert is weighted, a token has one")
    end
    return model:module(name, function()
        local weights, chosen = options.choose(model, x, options)
        local sent = x
        if options.weighs_input then
            sent = model:op("Mul", {x, weights})
            weights = model:op("Expand",
                {model:constant("one", model.dtype, {1}, {1}), model:op("Shape", {chosen})})
        end
        local width, inner = options.width, options
        if options.latent then
            sent = layers.linear(model, "fc1_latent_proj", sent, width, options.latent, {bias = options.latent_bias})
            inner = setmetatable({width = options.latent}, {__index = options})
        end
        local y = moe.exchange(model, sent, weights, chosen, inner, options.expert or function(sent)
            return moe.gated_experts(model, "experts", sent,
                options.names or {"gate_proj", "up_proj", "down_proj"}, options)
        end)
        if options.latent then
            y = layers.linear(model, "fc2_latent_proj", y, options.latent, width, {bias = options.latent_bias})
        end
        return options.shared and model:op("Add", {y, options.shared(x)}) or y
    end)
end

moe.capacity_options = capacity_options

-- What Qwen's configs and their kin say of experts.
function moe.options(model, config, experts, hidden)
    return capacity_options(model, config, {
        width = model:size("hidden_size"), hidden = model:size(hidden or "moe_intermediate_size"),
        experts = model:size(experts), top_k = model:size("num_experts_per_tok"),
        act = model:text("hidden_act", "silu"), normed = model:flag("norm_topk_prob", false),
        choose = moe.softmax_then_choose})
end

-- Whether layer i has experts: every decoder_sparse_step-th one, but those of mlp_only_layers.
function moe.is_sparse(model, config)
    local step, dense = model:size("decoder_sparse_step", 1), {}
    if type(config.mlp_only_layers) == "table" then
        for _, i in ipairs(config.mlp_only_layers) do dense[i] = true end
    end
    return function(i) return not dense[i] and (i + 1) % step == 0 end
end

return moe
