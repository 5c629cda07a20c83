#include "tests/unit/rule_text.h"

static RuleCase rows[] = {
    {"normal", "y <- RandomNormal shape=[4,1,8]", " -> d0 1 d2 | f32[4,1,8]", 0},
    {"uniform, typed", "y <- RandomUniform shape=[4] dtype=10", " -> d0 | f16[4]", 0},
    {"uniform without shape", "y <- RandomUniform dtype=1", "it has no shape", 0},
    {"normal like", "y <- RandomNormalLike f16[4,8]", "d0 d1 -> d0 d1 | f16[4,8]", 0},
    {"uniform like, typed", "y <- RandomUniformLike i64[4] dtype=1", "d0 -> d0 | f32[4]", 0},
    {"bernoulli", "y <- Bernoulli f32[4,8] dtype=9", "d0 d1 -> d0 d1 | bool[4,8]", 0},
    {"multinomial", "y <- Multinomial f32[4,8] sample_size=3", "b c^ -> b 3 | i32[4,3]", 0},
    {"multinomial of a vector", "y <- Multinomial f32[8]", "its input 0 has 1 dim, and needs 2", 0},

    {"dft", "y <- DFT f32[2,10,1]", "d0 10 1 -> d0 10 2 | f32[2,10,2]", 0},
    {"dft, half", "y <- DFT f32[2,10,1] onesided=1", "d0 10 1 -> d0 6 2 | f32[2,6,2]", 0},
    {"dft back from half", "y <- DFT f32[2,6,2] onesided=1 inverse=1",
     "d0 6 2 -> d0 10 1 | f32[2,10,1]", 0},
    {"dft of a length", "y <- DFT f32[2,10,1] i64[]{7} i64[]{1} onesided=1",
     "d0 10 1, ,  -> d0 4 2 | f32[2,4,2]", 0},
    {"dft, axis an input", "y <- DFT f32[2,10,8,2] - i64[]{-3}",
     "d0 10 d2 2, ?,  -> d0 10 d2 2 | f32[2,10,8,2]", 0},
    {"dft, axis an attribute", "y <- DFT f32[2,10,8,2] axis=2",
     "d0 d1 8 2 -> d0 d1 8 2 | f32[2,10,8,2]", 17},
    {"dft along an axis of the run", "y <- DFT f32[2,10,1] - i64[]",
     "2 10 1, ?,  -> ? | f32[?,?,2]", 0},
    {"half of complex numbers", "y <- DFT f32[2,10,2] onesided=1",
     "its last dim has 2 parts of a number", 0},
    {"stft", "y <- STFT f32[2,104,1] i64[]{8} - i64[]{16}",
     "b {8*f:+16} 1, , ?,  -> b f 9 2 | f32[2,12,9,2]", 0},
    {"stft with a window, both sides", "y <- STFT f32[2,100,1] i64[]{8} f32[16] onesided=0",
     "b {8*f:+16} 1, , 16 -> b f 16 2 | f32[2,11,16,2]", 0},
    {"stft of complex numbers", "y <- STFT f32[2,100,2] i64[]{8} f32[16]",
     "b {8*f:+16} 2, , 16 -> b f 16 2 | f32[2,11,16,2]", 0},
    {"stft of one frame", "y <- STFT f32[2,16] i64[]{8} f32[16]",
     "b 16, , 16 -> b 1 9 2 | f32[2,1,9,2]", 0},
    {"stft by the run", "y <- STFT f32[2,16,1] i64[] f32[16]", "2 16 1, , 16 -> ? | f32[2,?,9,2]",
     0},
    {"stft, two lengths", "y <- STFT f32[2,16,1] i64[]{8} f32[12] i64[]{16}",
     "its window is not as long as a frame", 0},
    {"window", "y <- HannWindow i64[]{8} output_datatype=11", " -> 8 | f64[8]", 0},
    {"window of the run", "y <- BlackmanWindow i32[]", " -> ? | f32[?]", 0},
    {"mel weights", "y <- MelWeightMatrix i64[]{8} i64[]{16} i64[]{8192} f32[]{0} f32[]{4096}",
     ", , , ,  -> 9 8 | f32[9,8]", 0},
    {"picture", "y <- ImageDecoder u8[100]", "100 -> ? | u8[?,?,3]", 0},
    {"grey picture", "y <- ImageDecoder u8[100] pixel_format=\"Grayscale\"", "100 -> ? | u8[?,?,1]",
     0},
};

int main(void)
{
    return run_rows("random and signal", rows, rule_says);
}
