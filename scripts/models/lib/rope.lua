-- rope.lua: rotary positions (Su et al. 2021) and the ways in which configs stretch them.

local attention = include "lib/attention"

local rope = {}

local function plain(theta, d)
    local frequencies = {}
    for i = 1, d // 2 do frequencies[i] = theta ^ (-2 * (i - 1) / d) end
    return frequencies
end

-- Llama 3.1 and later: low frequencies are divided by the factor, with a smooth passage between two
-- wavelengths.
local function llama3(frequencies, field)
    local old, factor = field("original_max_position_embeddings"), field("factor")
    local low, high = field("low_freq_factor"), field("high_freq_factor")
    for i, f in ipairs(frequencies) do
        local share = (old * f / (2 * math.pi) - low) / (high - low)
        share = math.max(0.0, math.min(1.0, share))
        frequencies[i] = f / factor * (1 - share) + f * share
    end
    return 1.0
end

local function mscale(factor, by)
    return factor > 1 and 0.1 * by * math.log(factor) + 1 or 1.0
end

-- YaRN (Peng et al. 2023): low frequencies are divided by the factor, high ones kept, those between
-- are blended. Cosines and sines are scaled by the number returned.
local function yarn(frequencies, field, n)
    local d, length = 2 * #frequencies, field("original_max_position_embeddings")
    -- Index of the frequency that makes `turns` turns over the old length.
    local function turning_at(turns)
        return d * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(n.theta))
    end
    local low = turning_at(field("beta_fast", 32))
    local high = turning_at(field("beta_slow", 1))
    if n.truncate then low, high = math.floor(low), math.ceil(high) end
    low, high = math.max(low, 0), math.min(high, d - 1)
    local factor = field("factor")
    for i, f in ipairs(frequencies) do
        local slow = math.max(0, math.min(1, (i - 1 - low) / math.max(high - low, 0.001)))
        frequencies[i] = f / factor * slow + f * (1 - slow)
    end
    local scale, all = field("mscale", 0), field("mscale_all_dim", 0)
    local ratio = scale ~= 0 and all ~= 0 and mscale(factor, scale) / mscale(factor, all)
    return field("attention_factor", ratio or mscale(factor, 1))
end

-- LongRoPE (Ding et al. 2024): each frequency is divided by a number of its own, from one of two
-- lists: one for sequences up to the original length, one for longer ones.
local function longrope(frequencies, field, n)
    local model = n.model
    local old = model:size("original_max_position_embeddings",
        field("original_max_position_embeddings", false) or 4096)
    local length = model:size("max_position_embeddings", old)
    local name = model:dim("seq") > old and "long_factor" or "short_factor"
    local list = n.config
    for part in (n.field .. "." .. name):gmatch("[^.]+") do list = list[part] end
    for i, f in ipairs(frequencies) do
        local factor = type(list) == "table" and tonumber(list[i])
            or model:refuse(n.field .. "." .. name, "needs " .. #frequencies .. " numbers")
        frequencies[i] = f / factor
    end
    local scale = length / old
    return field("attention_factor",
        scale > 1 and math.sqrt(1 + math.log(scale) / math.log(old)) or 1.0)
end

local function linear(frequencies, field)
    for i, f in ipairs(frequencies) do frequencies[i] = f / field("factor") end
    return 1.0
end

-- NTK (bloc97 2023): the base grows with the sequence beyond the old length, or by a fixed alpha
-- (Hunyuan).
local function dynamic(frequencies, field, n)
    local d, grown = 2 * #frequencies, field("alpha", false)
    if not grown then
        local old = field("original_max_position_embeddings", false)
            or n.model:size("max_position_embeddings", 4096)
        local length = math.max(n.model:dim("seq") + (n.model:dim("context") or 0), old)
        local factor = field("factor")
        grown = factor * length / old - (factor - 1)
    end
    for i, f in ipairs(plain(n.theta * grown ^ (d / (d - 2)), d)) do frequencies[i] = f end
    return 1.0
end

-- mrope (Wang et al. 2024) gives images positions of three numbers; those of text are equal.
local function default() return 1.0 end

local kinds = {default = default, mrope = default, llama3 = llama3, yarn = yarn, linear = linear,
               longrope = longrope, su = longrope, dynamic = dynamic}

-- Tables of cosines and sines for heads of which d numbers rotate; the config says how.
-- positions: [s]. given: theta, the base where the config names none; field, the one that has the
-- parameters, "rope_parameters.full_attention", in place of those of all layers; pairs: neighbours
-- rotate together.
function rope.tables(model, config, positions, d, given)
    given = given or {}
    local n = {model = model, config = config, field = given.field or
               config.rope_scaling and "rope_scaling" or "rope_parameters"}
    n.theta = model:number(n.field .. ".rope_theta", given.theta or 10000.0)
    if not given.field then n.theta = model:number("rope_theta", n.theta) end
    n.truncate = model:flag(n.field .. ".truncate", true)
    local kind = model:text(n.field .. ".rope_type", model:text(n.field .. ".type", "default"))
    local function field(name, default) return model:number(n.field .. "." .. name, default) end
    local frequencies = plain(n.theta, d)
    local scale = 1.0
    if kinds[kind] then
        scale = kinds[kind](frequencies, field, n)
    else
        print("rope_scaling of type " .. kind .. " is left out: it changes numbers, not shapes")
    end
    return attention.rope_tables(model, positions, frequencies, scale, given.pairs)
end

-- rope(positions, window) for decoder.build: layers that see a window have a base of their own, and
-- only those that see all keys are stretched. local_theta, theta: where the config's table for that
-- kind of layer names none.
function rope.of_kinds(model, config, d, local_theta, theta)
    local parameters = type(config.rope_parameters) == "table" and config.rope_parameters or {}
    return function(positions, window)
        local slides = window > 0
        local kind = slides and "sliding_attention" or "full_attention"
        local own = slides or parameters[kind]
        return model:module(slides and "local" or "global", function()
            return rope.tables(model, config, positions, d,
                {field = own and "rope_parameters." .. kind, theta = slides and local_theta or theta})
        end)
    end
end

-- What scores are scaled by beside d^-0.5 where DeepSeek's configs stretch positions by YaRN.
function rope.score_scale(model, config)
    local field = config.rope_scaling and "rope_scaling." or "rope_parameters."
    local kind = model:text(field .. "type", model:text(field .. "rope_type", "default"))
    if kind ~= "yarn" then return 1.0 end
    return mscale(model:number(field .. "factor"), model:number(field .. "mscale_all_dim", 0)) ^ 2
end

return rope
