-- lfm2.lua: LFM2 (Liquid AI 2025) from a config.json of "model_type": "lfm2": most layers have a short
-- convolution between two gates, a few have attention whose heads of q and k have an rms norm each.
-- Parameters are those of Lfm2ForCausalLM: 1,170,340,608 in LFM2-1.2B.

local lfm = include "lib/lfm"

-- Two thirds of what the config says, times its factor, rounded up, unless it says that this was done.
local function hidden_of(model)
    local hidden = model:size("block_ff_dim", model:size("intermediate_size", 12288))
    if not model:flag("block_auto_adjust_ff_dim", true) then return hidden end
    local multiple = model:size("block_multiple_of", 256)
    hidden = math.floor(model:number("block_ffn_dim_multiplier", 1.0) * (2 * hidden // 3))
    return multiple * ((hidden + multiple - 1) // multiple)
end

function MODEL(model, config) lfm.build(model, config, hidden_of(model)) end
