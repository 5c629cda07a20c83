#include "tests/unit/rule_text.h"

static RuleCase rows[] = {
    {"concat", "y <- StringConcat str[3,1] str[4]", "d0 1, d1 -> d0 d1 | str[3,4]", 0},
    {"split", "y n <- StringSplit str[3,4]", "3 4 -> ?, ? | str[3,4,?] i64[3,4]", 0},
    {"normalize", "y <- StringNormalizer str[5]", "d0 -> d0 | str[5]", 0},
    {"match", "y <- RegexFullMatch str[3,4]", "d0 d1 -> d0 d1 | bool[3,4]", 0},
    {"n-grams", "y <- TfIdfVectorizer i64[2,5] ngram_indexes=[0,6,3]", "n c^ -> n 7 | f32[2,7]", 0},
    {"n-grams of a vector", "y <- TfIdfVectorizer i64[5] ngram_indexes=[0,3]", "5 -> 4 | f32[4]",
     0},

    {"tokens", "y <- com.microsoft::Tokenizer str[2,5]", "2 5 -> ? | str[2,5,?]", 0},

    {"binarizer", "y <- ai.onnx.ml::Binarizer f64[3,4]", "d0 d1 -> d0 d1 | f64[3,4]", 0},
    {"categories to numbers", "y <- ai.onnx.ml::CategoryMapper str[3]", "d0 -> d0 | i64[3]", 0},
    {"numbers to categories", "y <- ai.onnx.ml::CategoryMapper i64[3]", "d0 -> d0 | str[3]", 0},
    {"features", "y <- ai.onnx.ml::FeatureVectorizer f64[3,4] i64[3,2]",
     "n 4, n 2 -> n 6 | f32[3,6]", 0},
    {"labels as numbers", "y <- ai.onnx.ml::LabelEncoder str[3,4] values_int64s=[1]",
     "d0 d1 -> d0 d1 | i64[3,4]", 0},
    {"labels by a tensor", "y <- ai.onnx.ml::LabelEncoder i64[3] values_tensor=f64[1]{5}",
     "d0 -> d0 | f64[3]", 0},
    {"one scale", "y <- ai.onnx.ml::Scaler i64[3,4]", "d0 d1 -> d0 d1 | f32[3,4]", 0},
    {"a value a column", "y <- ai.onnx.ml::Imputer i64[3,4] imputed_value_int64s=[1,2,3,4]",
     "d0 d1^ -> d0 d1^ | i64[3,4]", 0},
    {"normalizer", "y <- ai.onnx.ml::Normalizer f32[3,4]", "d0 d1^ -> d0 d1^ | f32[3,4]", 0},
    {"one hot", "y <- ai.onnx.ml::OneHotEncoder i64[3,4] cats_int64s=[1,2,3]",
     "d0 d1 -> d0 d1 3 | f32[3,4,3]", 0},
    {"classifier", "y z <- ai.onnx.ml::LinearClassifier f32[3,4] classlabels_ints=[0,1,2]",
     "n c^ -> n, n 3 | i64[3] f32[3,3]", 0},
    {"classifier of one row", "y z <- ai.onnx.ml::SVMClassifier f32[4] classlabels_ints=[0,1]",
     "c^ -> 1, 1 2 | i64[1] f32[1,2]", 0},
    {"tree classifier",
     "y z <- ai.onnx.ml::TreeEnsembleClassifier f32[3,4] classlabels_int64s=[0,1,2]",
     "n c^ -> n, n 3 | i64[3] f32[3,3]", 0},
    {"regressor", "y <- ai.onnx.ml::LinearRegressor f32[3,4] targets=2", "n c^ -> n 2 | f32[3,2]",
     0},
    {"trees", "y <- ai.onnx.ml::TreeEnsemble f64[3,4] n_targets=2", "n c^ -> n 2 | f64[3,2]", 0},
    {"tree regressor", "y <- ai.onnx.ml::TreeEnsembleRegressor f64[3,4]", "n c^ -> n 1 | f32[3,1]",
     0},
    {"maps", "y <- ai.onnx.ml::ZipMap f32[3,4]", "3 4 -> ? | none[..]", 0},
    {"from maps", "y <- ai.onnx.ml::DictVectorizer f32[] int64_vocabulary=[1,2,3]",
     " -> 1 3 | f32[1,3]", 0},
    {"cast of a map", "y <- ai.onnx.ml::CastMap f32[] cast_to=\"TO_STRING\"", " -> ? | str[1,?]",
     0},
};

int main(void)
{
    return run_rows("text", rows, rule_says);
}
