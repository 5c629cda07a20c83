-- stablelm.lua: StableLM 3B, Zephyr and 2 (Stability AI 2023) from a config.json of "model_type":
-- "stablelm". Parameters are those of StableLmForCausalLM: 12,143,185,920 in stablelm-2-12b.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local epsilon = model:number("layer_norm_eps", 1e-5)
    local n = decoder.sizes(model, config, {epsilon = epsilon})
    local parallel = model:flag("use_parallel_residual", false)
    -- Each head has a norm of its own.
    local function norm(part, y, d)
        local factors = {}
        return model:module(part .. "_layernorm", function()
            for i = 1, part == "q" and n.heads or n.kv_heads do
                local weight = model:module("norms." .. i - 1, function()
                    return model:param("weight", {d})
                end)
                factors[i] = model:op("Unsqueeze", {weight, {0}})
            end
            y = layers.layer_norm(model, "norm", y, d, epsilon, {weight = false})
            return model:op("Mul", {y, model:op("Concat", factors, {axis = 0})})
        end)
    end
    decoder.build(model, config, {
        sizes = n, norm = layers.layer_norm, parallel = parallel,
        norms = parallel and {{before = "input_layernorm"}} or nil,
        rotated = decoder.rotated(model, n.head_dim, "partial_rotary_factor", 0.25),
        heads = {bias = model:flag("use_qkv_bias", false),
                 norm = model:flag("qk_layernorm", false) and norm or nil}})
end
