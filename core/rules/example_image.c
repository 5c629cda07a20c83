/* example_image.c - small calls of operators on images and signals: window, pool, layer, resample,
 * signal. */
#include "core/rules/example.h"

/* clang-format off */
const Example examples_image[] = {
    /* window */
    {"Conv", "3x4x7x6,5x4x3x2,5", "strides=[2,1] pads=[1,0,2,1] dilations=[1,2]", 0},
    {"Conv", "3x6x9,4x3x3,4", "group=2 strides=[3]", 0},
    {"Conv", "3x5x6,5x1x3", "group=5 auto_pad=SAME_UPPER", 0},
    {"Conv", "2x3x5x5,4x3x1x1", NULL, 0},
    {"ConvInteger", "3x4x5x5:u8,3x4x2x2:u8,scalar:u8,3:u8", "pads=[1,1,0,0]", 0},
    {"QLinearConv", "3x4x7x6:u8,scalar,scalar:u8,5x4x3x2:u8,5,5:u8,scalar,scalar:u8,5:i32", "pads=[1,0,1,0]", 0},
    {"DeformConv", "3x4x7x6,5x4x2x2,3x8x6x5,5", NULL, 0},
    {"DeformConv", "3x4x7x6,5x4x2x2,3x16x6x5,-,3x8x6x5", "offset_group=2", 0},
    {"CausalConvWithState", "3x5x7,5x1x4,5,3x5x3", NULL, 2},
    {"ConvTranspose", "3x4x5x4,4x3x3x2,3", "strides=[2,1] pads=[1,0,0,1] output_padding=[1,0]", 0},
    {"ConvTranspose", "3x4x5,4x3x3,6", "group=2 strides=[3]", 0},
    {"ConvTranspose", "3x4x5,4x3x3", "pads=[1,0]", 0},
    /* pool */
    {"MaxPool AveragePool LpPool", "3x5x7x6", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1]", 0},
    {"MaxPool AveragePool LpPool", "3x5x9x6", "kernel_shape=[3,2] strides=[3,2]", 0},
    {"MaxPool", "3x4x7", "kernel_shape=[3] strides=[2] ceil_mode=1", 2},
    {"AveragePool", "3x4x7x5", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=1 ceil_mode=1", 0},
    {"GlobalAveragePool GlobalMaxPool GlobalLpPool", "3x5x7x6", NULL, 0},
    {"LRN", "3x5x4x3", "size=3", 0},
    {"MaxUnpool", "3x5x4x6,3x5x4x6:i64", "kernel_shape=[2,2] strides=[2,2]", 0},
    {"MaxRoiPool", "3x5x7x6,4x5", "pooled_shape=[2,3]", 0},
    {"RoiAlign", "3x5x7x6,8x4,8:i64", "output_height=2 output_width=3", 0},
    /* layer */
    {"BatchNormalization", "3x5x4x3,5,5,5,5", NULL, 0},
    {"BatchNormalization", "3x5x4x7,5,5,5,5", "training_mode=1", 3},
    {"InstanceNormalization", "3x5x4x3,5,5", NULL, 0},
    {"GroupNormalization", "3x6x4x3,6,6", "num_groups=3", 0},
    {"LpNormalization", "5x6x4", "axis=1", 0},
    {"MeanVarianceNormalization", "3x5x4x6", NULL, 0},
    {"SwiGLU", "5x6,5x6", NULL, 0},
    {"TensorScatter", "3x5x8x4,3x5x2x4,3:i64", NULL, 0},
    /* resample */
    {"Pad", "5x6x4,=[2,0,0,1,0,3]", NULL, 0},
    {"Pad", "5x6x4,=[2,0,0,1,0,3]", "mode=reflect", 0},
    {"Pad", "5x6x4,=[-1,0,2,-1,1,0]", "mode=edge", 0},
    {"CenterCropPad", "5x8x6,=[8,3]", "axes=[0,2]", 0},
    {"DepthToSpace", "3x12x5x4", "blocksize=2", 0},
    {"DepthToSpace", "3x12x5x4", "blocksize=2 mode=CRD", 0},
    {"SpaceToDepth", "3x5x6x4", "blocksize=2", 0},
    {"Resize", "3x5x4x3,-,-,=[3,5,8,9]", NULL, 0},
    {"Resize", "3x5x4x3,-,-,=[3,5,8,6]", "mode=linear", 0},
    {"Resize", "3x5x4x6,-,-,=[3,5,7,4]", "mode=cubic coordinate_transformation_mode=align_corners", 0},
    {"Upsample", "3x5x4x3", "height_scale=2.0 width_scale=1.5", 0},
    {"GridSample", "3x5x4x6,3x7x8x2", NULL, 0},
    {"AffineGrid", "4x2x3,=[4,5,7,8]", NULL, 0},
    {"Col2Im", "3x30x9,=[4,5],=[2,3]", NULL, 0},
    /* signal */
    {"DFT", "3x7x2", NULL, 0},
    {"DFT", "3x8x5x1,-,=1", "onesided=1", 0},
    {"STFT", "3x20x1,=4,8", NULL, 0},
    {"STFT", "3x20x2,=8,-,=8", "onesided=0", 0},
    {"BlackmanWindow HammingWindow HannWindow", "=7", NULL, 0},
    {"MelWeightMatrix", "=7,=16,=8000,scalar,scalar", NULL, 0},
    {"ImageDecoder", "100:u8", NULL, 0},
    {NULL, NULL, NULL, 0},
};
/* clang-format on */
