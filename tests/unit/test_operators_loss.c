#include "tests/unit/rule_text.h"

static RuleCase rows[] = {
    {"none", "y <- SoftmaxCrossEntropyLoss f32[3,5,6] i64[3,6] f32[5] reduction=\"none\"",
     "n c^ d2, n d2, c^ -> n d2 | f32[3,6]", 0},
    {"sum", "y <- SoftmaxCrossEntropyLoss f32[3,5] i64[3] reduction=\"sum\"",
     "n+ c^, n+ ->  | f32[]", 0},
    {"mean", "y <- NegativeLogLikelihoodLoss f32[3,5,6] i64[3,6]", "n+ c^ d2+, n+ d2+ ->  | f32[]",
     0},
    {"mean by weights", "y <- NegativeLogLikelihoodLoss f32[3,5] i64[3] f32[5]",
     "n^ c^, n^, c^ ->  | f32[]", 0},
    {"sum by weights", "y <- NegativeLogLikelihoodLoss f32[3,5] i64[3] f32[5] reduction=\"sum\"",
     "n+ c^, n+, c^ ->  | f32[]", 0},
    {"mean of some", "y <- SoftmaxCrossEntropyLoss f32[3,5] i64[3] ignore_index=-1",
     "n^ c^, n^ ->  | f32[]", 0},
    {"log-probabilities too", "y p <- SoftmaxCrossEntropyLoss f32[3,5,6] i64[3,6]",
     "n^ c^ d2^, n^ d2^ -> , n^ c^ d2^ | f32[] f32[3,5,6]", 0},
    {"log-probabilities beside none",
     "y p <- SoftmaxCrossEntropyLoss f32[3,5] i64[3] reduction=\"none\"",
     "n c^, n -> n, n c^ | f32[3] f32[3,5]", 0},
    {"one sample", "y <- NegativeLogLikelihoodLoss f32[5] i64[]", "c^,  ->  | f32[]", 0},
    {"labels that do not fit", "y <- NegativeLogLikelihoodLoss f32[3,5] i64[4]",
     "its input 1 is [4], and needs to be [3]", 0},
    {"weights that do not fit", "y <- NegativeLogLikelihoodLoss f32[3,5] i64[3] f32[3]",
     "its input 2 is [3], and needs to be [5]", 0},

    {"adagrad", "x h <- ai.onnx.preview.training::Adagrad f32[] i64[] f32[4,8] f32[4,8] f32[4,8]",
     ", , a0 a1, a0 a1, a0 a1 -> a0 a1, a0 a1 | f32[4,8] f32[4,8]", 0},
    {"momentum of two",
     "x y v w <- ai.onnx.preview.training::Momentum f32[] i64[] f32[4] f32[6] f32[4] f32[6] f32[4] "
     "f32[6]",
     ", , a0, b0, a0, b0, a0, b0 -> a0, b0, a0, b0 | f32[4] f32[6] f32[4] f32[6]", 0},
    {"adam", "x v h <- ai.onnx.preview.training::Adam f32[] i64[] f32[4] f32[4] f32[4] f32[4]",
     ", , a0, a0, a0, a0 -> a0, a0, a0 | f32[4] f32[4] f32[4]", 0},
    {"a moment too few", "x v <- ai.onnx.preview.training::Adam f32[] i64[] f32[4] f32[4] f32[4]",
     "its 5 inputs and 2 outputs are not 2 and 4, and 3, a parameter", 0},
    {"gradient", "x <- ai.onnx.preview.training::Gradient f32[4,8] f32[8]",
     "4 8, 8 -> 4 8 | f32[4,8]", 0},
};

int main(void)
{
    return run_rows("losses and optimizers", rows, rule_says);
}
