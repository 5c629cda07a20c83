-- qwen.lua: what Qwen 2 and 3 share, alone and in models of images: windows, norms of heads, experts.

local layers = include "lib/layers"
local decoder = include "lib/decoder"
local moe = include "lib/moe"

local qwen = {}

-- The keys that a query of layer i sees, as window(i); nil where all see all.
function qwen.window(model, config)
    if not model:flag("use_sliding_window", false) then return nil end
    return qwen.late_window(model, config)
end

-- window(i) where the first max_window_layers layers see all keys.
function qwen.late_window(model, config)
    local first = model:number("max_window_layers", 0)
    return decoder.windows(model, config, function(i) return i >= first end)
end

-- Options of attention in Qwen 3: an rms norm of each head of q and k.
function qwen.heads_with_norms(model, epsilon)
    local bias = model:flag("attention_bias", false)
    epsilon = epsilon or model:number("rms_norm_eps", 1e-6)
    return {bias = bias, out_bias = bias, norm = function(part, y, d)
        return layers.rms_norm(model, part .. "_norm", y, d, epsilon)
    end}
end

-- Qwen 2: a Llama whose q, k and v have biases. names: as in lib/decoder.
function qwen.second(model, config, names)
    decoder.build(model, config,
        {names = names, heads = {bias = true}, window = qwen.window(model, config)})
end

-- Qwen 3: heads of q and k have norms; mlp(x, i) in place of the gated MLP, or nil.
function qwen.third(model, config, names, mlp)
    decoder.build(model, config, {names = names, heads = qwen.heads_with_norms(model),
        window = qwen.window(model, config), mlp = mlp})
end

-- Options of experts in Qwen 3; transformers 5 saves their number under another name.
function qwen.expert_options(model, config)
    return moe.options(model, config,
        config.num_local_experts and "num_local_experts" or "num_experts")
end

-- An expert that every token uses, weighted by a sigmoid of its own: what moe.mixture adds.
function qwen.shared_expert(model, options)
    return function(x)
        local y = layers.gated_mlp(model, "shared_expert", x, options.width,
            model:size("shared_expert_intermediate_size"), {act = options.act})
        local gate = layers.linear(model, "shared_expert_gate", x, options.width, 1)
        return model:op("Mul", {model:op("Sigmoid", {gate}), y})
    end
end

-- The function that builds the MLP of a layer: experts in most of them.
function qwen.experts_or_mlp(model, config, options)
    local sparse = moe.is_sparse(model, config)
    return function(x, i)
        if sparse(i) then return moe.mixture(model, "mlp", x, options) end
        return layers.gated_mlp(model, "mlp", x, options.width, model:size("intermediate_size"),
            {act = options.act})
    end
end

return qwen
