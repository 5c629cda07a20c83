-- bert.lua: BERT (Devlin et al. 2019) from a config.json of "model_type": "bert". Parameters are those
-- of BertModel with its pooler: 109,482,240 in bert-base-uncased.

local bert = include "lib/bert"

function MODEL(model, config)
    bert.build(model, config, {root = "bert"})
end
