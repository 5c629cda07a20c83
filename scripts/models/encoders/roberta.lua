-- roberta.lua: RoBERTa (Liu et al. 2019) from a config.json of "model_type":
-- "roberta": a BERT whose rows of positions begin behind that of padding. Parameters are those of
-- RobertaModel with its pooler: 124,645,632 in roberta-base.

local bert = include "lib/bert"

function MODEL(model, config)
    bert.build(model, config, {root = "roberta", first = model:number("pad_token_id", 1) + 1})
end
