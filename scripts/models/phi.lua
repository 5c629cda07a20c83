-- phi.lua: Phi-1, 1.5 and 2 (Gunasekar et al. 2023) from a config.json of "model_type": "phi":
-- attention and MLP are added to one x. Parameters are those of PhiForCausalLM: 2,779,683,840 in
-- phi-2.

local decoder = include "lib/decoder"
local layers = include "lib/layers"

function MODEL(model, config)
    local epsilon = model:number("layer_norm_eps", 1e-5)
    local n = decoder.sizes(model, config, {epsilon = epsilon})
    local function norm(part, y, d)
        return layers.layer_norm(model, part .. "_layernorm", y, d, epsilon)
    end
    decoder.build(model, config, {
        sizes = n, names = {norm = "final_layernorm"}, norm = layers.layer_norm,
        norms = {{before = "input_layernorm"}}, parallel = true, head_bias = true,
        rotated = decoder.rotated(model, n.head_dim, "partial_rotary_factor", 0.5),
        heads = {names = {"q_proj", "k_proj", "v_proj", "dense"}, bias = true, out_bias = true,
                 norm = model:flag("qk_layernorm", false) and norm or nil},
        mlp = function(x)
            return layers.mlp(model, "mlp", x, n.width, n.hidden, {"fc1", "fc2"},
                {act = model:text("hidden_act", "gelu_new"), bias = true})
        end})
end
