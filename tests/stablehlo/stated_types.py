#!/usr/bin/env python3
"""Types of results that are stated wrongly are found: stated_types.py DIMSCOPE

Of each op the line with its type, right and wrong. Right types are those that MLIR's verifier
accepts (jaxlib's parser, which tests/stablehlo/*.values.tsv are of).
"""
import os
import subprocess
import sys
import tempfile

OPS = [
    ("convolution", "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->"
     "[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 2]} "
     "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
     "(tensor<2x9x8x3xf32>, tensor<3x2x3x4xf32>) -> ", "2x4x5x8", "2x4x5x9"),
    ("gather", '%0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<'
     "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, "
     "indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : "
     "(tensor<5x6xf32>, tensor<7x2x1xi32>) -> ", "7x6x2", "7x2x6"),
    ("dynamic_slice", "%0 = stablehlo.dynamic_slice %t, %s, %s, sizes = [2, 3] : "
     "(tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> ", "2x3", "2x4"),
    ("dynamic_update_slice", "%0 = stablehlo.dynamic_update_slice %t, %u, %s, %s : "
     "(tensor<5x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> ", "5x6", "5x3"),
    ("reduce_window", '%0 = "stablehlo.reduce_window"(%t, %z) <{padding = dense<[[0, 0], [1, 1]]> '
     ": tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>}> "
     "({\n    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n      %1 = stablehlo.add %a, %b : "
     "tensor<f32>\n      stablehlo.return %1 : tensor<f32>\n    }) : "
     "(tensor<5x6xf32>, tensor<f32>) -> ", "4x3", "4x4"),
    ("scatter", '%0 = "stablehlo.scatter"(%t, %j, %v) <{indices_are_sorted = false, '
     "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
     "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
     "unique_indices = false}> ({\n    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
     "      stablehlo.return %b : tensor<f32>\n    }) : "
     "(tensor<5x6xf32>, tensor<7x1xi32>, tensor<7x6xf32>) -> ", "5x6", "7x6"),
]
ARGUMENTS = ("%x: tensor<2x9x8x3xf32>, %k: tensor<3x2x3x4xf32>, %t: tensor<5x6xf32>, "
             "%i: tensor<7x2x1xi32>, %j: tensor<7x1xi32>, %u: tensor<2x3xf32>, "
             "%v: tensor<7x6xf32>, %s: tensor<i32>, %z: tensor<f32>")


def check(folder, line, stated):
    path = os.path.join(folder, "model.mlir")
    with open(path, "w", encoding="ascii") as out:
        out.write(f"module @m {{\n  func.func public @main({ARGUMENTS}) -> tensor<{stated}xf32> "
                  f"{{\n    {line}tensor<{stated}xf32>\n    return %0 : tensor<{stated}xf32>\n"
                  "  }\n}\n")
    done = subprocess.run([sys.argv[1], "check", path, "-m", "x=2"], capture_output=True,
                          text=True, check=False)
    said = [text for text in (done.stdout + done.stderr).splitlines() if "is declared as" in text]
    return done, "".join(said)


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, line, right, wrong in OPS:
            done, said = check(folder, line, right)
            if said or "error" in done.stderr:
                failed += 1
                print(f"{name} with its type: {said or done.stderr}")
            _, said = check(folder, line, wrong)
            shapes = [shape.replace("x", ",") for shape in (wrong, right)]
            if f"'%0' is declared as [{shapes[0]}], and is [{shapes[1]}]" not in said:
                failed += 1
                print(f"{name} with another type: '{said}'")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
