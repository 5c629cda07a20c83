-- gemma3.lua: the language model of Gemma 3 (Gemma Team 2025) from a config.json of "model_type":
-- "gemma3", whose "text_config" it is. Parameters are those below language_model of
-- Gemma3ForConditionalGeneration; the images' encoder is left out.

local gemma = include "lib/gemma"

function MODEL(model, config)
    model:within("text_config")
    print("the encoder of images and its projection are left out: this is the language model alone")
    model:module("language_model", function() gemma.third(model, config.text_config) end)
end
