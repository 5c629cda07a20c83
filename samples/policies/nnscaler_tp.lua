-- nnscaler_tp.lua: nnScaler's policy `tp` (pas_tp). Each node is cut along a dim drawn by lot, of
-- those that the number of devices divides; where there is none every device computes it whole.
--
-- It shows what can be cut, and moves a lot of data: a test of a machine, no plan to train with.
-- Numbers are drawn as Python's random does, so that the plan is nnScaler's with the same SEED.

local SEED = 1

-- Mersenne Twister (Matsumoto, Nishimura 1998), seeded by a list of one number as Python does.
local function twister(seed)
    local mt, at = {}, 624
    local function fill(s)
        mt[0] = s & 0xffffffff
        for i = 1, 623 do
            mt[i] = (1812433253 * (mt[i - 1] ~ (mt[i - 1] >> 30)) + i) & 0xffffffff
        end
    end
    fill(19650218)
    local i = 1
    for _ = 1, 624 do
        mt[i] = ((mt[i] ~ ((mt[i - 1] ~ (mt[i - 1] >> 30)) * 1664525)) + seed) & 0xffffffff
        i = i + 1
        if i > 623 then mt[0], i = mt[623], 1 end
    end
    for _ = 1, 623 do
        mt[i] = ((mt[i] ~ ((mt[i - 1] ~ (mt[i - 1] >> 30)) * 1566083941)) - i) & 0xffffffff
        i = i + 1
        if i > 623 then mt[0], i = mt[623], 1 end
    end
    mt[0] = 0x80000000
    return function()
        if at == 624 then
            for k = 0, 623 do
                local y = (mt[k] & 0x80000000) | (mt[(k + 1) % 624] & 0x7fffffff)
                mt[k] = mt[(k + 397) % 624] ~ (y >> 1) ~ (y & 1 == 1 and 0x9908b0df or 0)
            end
            at = 0
        end
        local y = mt[at]
        at = at + 1
        y = y ~ (y >> 11)
        y = y ~ ((y << 7) & 0x9d2c5680)
        y = y ~ ((y << 15) & 0xefc60000)
        return y ~ (y >> 18)
    end
end

local function shuffle(list, draw)
    for i = #list, 2, -1 do
        local bits, k = 0, i
        while k > 0 do bits, k = bits + 1, k >> 1 end
        local j
        repeat j = draw() >> (32 - bits) until j < i
        list[i], list[j + 1] = list[j + 1], list[i]
    end
end

-- The longest dim first, equal ones in their order.
local function by_size(node, space)
    for i, config in ipairs(space) do
        config.size = node:input(config.idx).shape[config.dim + 1]
        while i > 1 and space[i - 1].size < config.size do
            space[i], i = space[i - 1], i - 1
        end
        space[i] = config
    end
    return space
end

local function cut(graph, node, n, draw)
    local algo, space = node:algorithm("dim"), by_size(node, node:transform_space())
    shuffle(space, draw)
    for _, config in ipairs(space) do
        local split = {idx = config.idx, dim = config.dim, num = n}
        if config.size % n == 0 and algo:satisfy(split) then
            return graph:partition(node, algo, split)
        end
    end
    return graph:replicate(node, n)
end

function PAS(graph, resource)
    local draw, devices = twister(SEED), resource:devices()
    graph:auto_multiref()
    for _, node in ipairs(graph:select{ntype = "IRFwOperation"}) do
        graph:assign(cut(graph, node, resource.ngpus, draw), devices)
    end
    return graph
end
