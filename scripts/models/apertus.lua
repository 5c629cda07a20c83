-- apertus.lua: Apertus (Swiss AI 2025) from a config.json of "model_type": "apertus": a Llama whose heads
-- of q and k have an rms norm each, and whose MLP has no gate and xIELU (Huang and Schlag 2024), of
-- which each layer learns two numbers. Parameters are those of ApertusForCausalLM: 8,053,338,176 in
-- Apertus-8B-2509.

local decoder = include "lib/decoder"
local layers = include "lib/layers"
local qwen = include "lib/qwen"

local BETA, EDGE = 0.5, -1e-6

-- a x^2 + x / 2 above 0, c (exp(min(x, edge)) - 1 - x) + x / 2 below.
local function xielu(model, x)
    return model:module("act_fn", function()
        local above = model:op("Softplus", {model:param("alpha_p", {1})})
        local below = model:op("Add", {model:op("Softplus", {model:param("alpha_n", {1})}), BETA})
        local half = model:op("Mul", {x, BETA})
        local high = model:op("Mul", {model:op("Mul", {x, x}), above})
        local low = model:op("Sub", {model:op("Exp", {model:op("Min", {x, EDGE})}), 1.0})
        low = model:op("Mul", {model:op("Sub", {low, x}), below})
        return model:op("Add", {model:op("Where", {model:op("Greater", {x, 0.0}), high, low}), half})
    end)
end

function MODEL(model, config)
    local n = decoder.sizes(model, config, {epsilon = model:number("rms_norm_eps", 1e-5)})
    local act = model:text("hidden_act", "xielu")
    decoder.build(model, config, {
        sizes = n, theta = 12000000.0,
        norms = {{before = "attention_layernorm"}, {before = "feedforward_layernorm"}},
        heads = qwen.heads_with_norms(model, n.epsilon),
        mlp = function(x)
            local names = {"up_proj", "down_proj"}
            if act ~= "xielu" then
                return layers.mlp(model, "mlp", x, n.width, n.hidden, names, {act = act})
            end
            return model:module("mlp", function()
                local y = xielu(model, layers.linear(model, names[1], x, n.width, n.hidden))
                return layers.linear(model, names[2], y, n.hidden, n.width)
            end)
        end})
end
