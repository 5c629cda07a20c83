-- xlm-roberta.lua: XLM-RoBERTa (Conneau et al. 2020) from a config.json of "model_type":
-- "xlm-roberta": a BERT whose rows of positions begin behind that of padding. Parameters are those of
-- XLMRobertaModel with its pooler: 278,043,648 in xlm-roberta-base.

local bert = include "lib/bert"

function MODEL(model, config)
    bert.build(model, config, {root = "roberta", first = model:number("pad_token_id", 1) + 1})
end
