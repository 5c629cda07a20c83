-- decoder.lua: decoder-only transformers, out of their configs. Llama is the default; a family says
-- what it has otherwise.

local layers = include "lib/layers"
local attention = include "lib/attention"
local rope = include "lib/rope"

local decoder = {}

-- The sizes that a config names; those in `given` come first.
function decoder.sizes(model, config, given)
    given = given or {}
    local heads = given.heads or model:size("num_attention_heads")
    local width = given.width or model:size("hidden_size")
    if width % heads ~= 0 and not (given.head_dim or config.head_dim) then
        model:refuse("num_attention_heads", "is " .. heads .. ", which does not divide "
            .. width .. ", the hidden_size")
    end
    return {
        width = width, heads = heads,
        hidden = given.hidden or model:size("intermediate_size"),
        n_layers = given.n_layers or model:size("num_hidden_layers"),
        vocabulary = given.vocabulary or model:size("vocab_size"),
        kv_heads = given.kv_heads or model:size("num_key_value_heads", heads),
        head_dim = given.head_dim or model:size("head_dim", math.max(width // heads, 1)),
        epsilon = given.epsilon or model:number("rms_norm_eps", 1e-6),
        length = given.length or model:size("max_position_embeddings", 4096),
    }
end

-- Numbers of a head that rotate: head_dim times a factor of the config, an even number. The factor
-- stands in rope_parameters where a config has that table.
function decoder.rotated(model, head_dim, field, default)
    default = model:number("rope_parameters." .. field, default)
    local n = math.floor(head_dim * model:number(field, default))
    if n % 2 ~= 0 then
        model:refuse(field, "makes " .. n .. " numbers of a head rotate, and they rotate in pairs")
    end
    return n
end

-- Which of two kinds of attention each layer has: config.layer_types, else the last of every `n`
-- layers sees all keys; without n none does. n may be a function: whether layer i has a window.
-- Gives window(i), nil for layers that see all keys.
function decoder.windows(model, config, n)
    local width = model:size("sliding_window", false)
    local kinds = type(config.layer_types) == "table" and config.layer_types
    return function(i)
        if not width then return nil end
        local slides
        if kinds then
            slides = kinds[i + 1] == "sliding_attention"
        elseif type(n) == "function" then
            slides = n(i)
        else
            slides = n == nil or i % n ~= n - 1
        end
        return slides and width or nil
    end
end

-- The mask of each layer; layers of one window share it.
local function masks_of(model, n, positions, family)
    local of_window, masks = {}, {}
    local function alibi(window) -- of all keys, those in a cache too
        if not family.alibi then return nil end
        local keys = positions
        if (model:dim("context") or 0) > 0 then
            keys = attention.remembered_places(model, window, model:dim("seq"))
        end
        return attention.alibi(model, keys, n.heads, family.alibi)
    end
    for i = 0, n.n_layers - 1 do
        local window, chunk, kept = family.window, family.chunk and family.chunk(i), nil
        if type(window) == "function" then window = window(i) end
        if chunk then chunk, kept = attention.chunked(model, chunk) end
        local kind = (chunk or kept) and "chunk" or window or 0
        if not of_window[kind] then
            of_window[kind] = attention.causal_mask(model, positions, window, alibi(window), chunk,
                kept)
        end
        masks[i] = of_window[kind]
    end
    return masks
end

-- The tables of rotary positions of each layer; layers of one window share them.
local function tables_of(model, config, n, positions, family)
    local of_window, tables = {}, {}
    local function made(window)
        if family.rope then return family.rope(positions, window) end
        return rope.tables(model, config, positions, family.rotated or n.head_dim,
            {theta = family.theta, pairs = family.pairs})
    end
    for i = 0, n.n_layers - 1 do
        local window = family.rope_by_window and family.window(i) or 0
        if family.rotated ~= 0 and (not family.rotates or family.rotates(i)) then
            of_window[window] = of_window[window] or made(window)
            tables[i] = of_window[window]
        end
    end
    return tables
end

-- "local" or "global" where a family has layers of both kinds of attention, or what it says.
local function kind_of(family, i)
    if family.kind then return family.kind(i) end
    if type(family.window) ~= "function" then return nil end
    return family.window(i) and "local" or "global"
end

-- One layer: attention, then the MLP, each added to x; of one x with family.parallel.
local function block(model, n, family, x, i, tables, mask)
    local names = family.norms or {{before = "input_layernorm"},
                                   {before = "post_attention_layernorm"}}
    local function norm(name, y) return family.norm(model, name, y, n.width, n.epsilon) end
    local function dropped(y)
        y = layers.dropout(model, y, family.dropout)
        return family.part_scale and model:op("Mul", {y, family.part_scale + 0.0}) or y
    end
    local function attend(y)
        if family.attention then return family.attention(y, tables, mask, i) end
        local mixed = family.mixer and family.mixer(y, i)
        if mixed then return dropped(mixed) end
        local options = {width = n.width, heads = n.heads, kv_heads = n.kv_heads,
                         head_dim = n.head_dim, rope = tables, mask = mask,
                         dropout = family.weight_dropout}
        local heads = family.heads or {}
        if type(heads) == "function" then heads = heads(i) end
        for key, value in pairs(heads) do options[key] = value end
        return dropped(attention.grouped(model, family.names.attention, y, options))
    end
    local function mlp(y)
        if family.mlp then return dropped(family.mlp(y, i)) end
        return dropped(layers.gated_mlp(model, "mlp", y, n.width, n.hidden,
            {act = family.act or model:text("hidden_act", "silu"), bias = family.mlp_bias}))
    end
    if not family.parallel then
        x = layers.residual(model, x, norm, names[1], attend)
        return not names[2] and x or layers.residual(model, x, norm, names[2], mlp)
    end
    local first = norm(names[1].before, x)
    local second = names[2] and norm(names[2].before, x) or first
    return model:op("Add", {x, model:op("Add", {attend(first), mlp(second)})})
end

local names = {__index = {root = "model", embed = "embed_tokens", layers = "layers",
                          attention = "self_attn", norm = "norm", head = "lm_head"}}

-- Builds the model. family:
--     sizes       in place of what decoder.sizes reads
--     names       of modules: root, embed, layers, attention, norm, head; outer_embed: the embedding
--                 is beside root, not in it
--     norm        layers.rms_norm or another
--     norms       of attention and MLP, {before, after, last} each: layers.residual; one alone: a layer
--                 has attention, or what stands in its place, and no MLP
--     parallel    attention and MLP are added to one x; one norm serves both if there is one
--     heads       more options of attention.grouped, or heads(i)
--     attention   attention(x, rope, mask, i), in place of attention.grouped
--     mixer       mixer(x, i), in place of attention; nil where layer i has attention
--     act, mlp_bias    of the gated MLP
--     mlp         mlp(x, i), in place of the gated MLP of layer i
--     window      of keys that are seen, or window(i)
--     chunk       chunk(i): layer i sees the keys of the same chunk of so many tokens; nil: all
--     kind        kind(i): the kind of layer i in outlines, where layers of several kinds repeat
--     rotated     numbers of a head that rotate; 0: none. theta: their base, if the config has no
--                 rope_theta
--     rotates     whether heads of layer i rotate; all do
--     pairs       neighbours rotate together, not numbers half a head apart
--     rope        rope(positions, window), in place of the tables that the config says; with
--                 rope_by_window of the window of a layer, 0 if it sees all keys
--     alibi       the scale of ALiBi, added to scores
--     embed       embed(x, positions), what is made of the embeddings
--     dropout     of the embeddings and of what attention and MLP add to x, in training; by
--                 default the setting of that name
--     weight_dropout    of the weights of attention, in training; the same
--     part_scale    what attention and MLP make is multiplied by, before it is added to x
--     head_bias, cap, logit_scale    of the logits
--     tied        whether the head is the embedding, if the config does not say; false
function decoder.build(model, config, family)
    local n = family.sizes or decoder.sizes(model, config)
    family.names = setmetatable(family.names or {}, names)
    family.norm = family.norm or layers.rms_norm
    family.dropout = family.dropout or layers.dropout_ratio(model)
    family.weight_dropout = family.weight_dropout or
        attention.dropout(model, layers.dropout_ratio(model))
    local name = family.names
    model:dims{batch = 8, seq = math.min(4096, n.length)}
    local ids = model:input("input_ids", "i64", {"batch", "seq"})
    local x, table
    local positions, masks, tables
    local function embed()
        x, table = layers.embedding(model, name.embed, ids, n.vocabulary, n.width)
        model:module("rotary_emb", function()
            positions = attention.places(model, ids)
            tables = tables_of(model, config, n, positions, family)
            masks = masks_of(model, n, positions, family)
        end)
        if family.embed then x = family.embed(x, positions) end
        x = layers.dropout(model, x, family.dropout)
    end
    local function body()
        if not name.outer_embed then embed() end
        for i = 0, n.n_layers - 1 do
            model:module(name.layers .. "." .. i, function()
                x = block(model, n, family, x, i, tables[i], masks[i])
            end, kind_of(family, i))
        end
        x = family.norm(model, name.norm, attention.last_token(model, x), n.width, n.epsilon)
    end
    if name.outer_embed then embed() end
    model:module(name.root, body)
    local tied = model:flag("tie_word_embeddings", family.tied or false)
    local logits = layers.linear(model, name.head, x, n.width, n.vocabulary,
        {weight = tied and table or nil, bias = family.head_bias})
    if family.logit_scale then logits = model:op("Mul", {logits, family.logit_scale + 0.0}) end
    if family.cap then logits = layers.soft_cap(model, logits, family.cap) end
    model:output(logits, "logits")
end

return decoder
