-- vaultgemma.lua: VaultGemma (Google 2025) from a config.json of "model_type": "vaultgemma": a Gemma 2
-- without the norms behind attention and MLP. Parameters are those of VaultGemmaForCausalLM.

local gemma = include "lib/gemma"

function MODEL(model, config)
    gemma.second(model, config, {{before = "input_layernorm"}, {before = "pre_feedforward_layernorm"}})
end
