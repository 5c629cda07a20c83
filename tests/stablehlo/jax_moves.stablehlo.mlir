module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<3x2x4x3xf32>, %arg2: tensor<2x2x1x8xf32>, %arg3: tensor<2x8x8x4xf32>, %arg4: tensor<2x2x3x4xf32>, %arg5: tensor<3x3xi32>, %arg6: tensor<i32>) -> (tensor<3x6xf32> {jax.result_info = "result[0]"}, tensor<2x8x2x3xf32> {jax.result_info = "result[1]"}, tensor<2x7x4x8xf32> {jax.result_info = "result[2]"}, tensor<4x5xf32> {jax.result_info = "result[3]"}, tensor<3x3x4xf32> {jax.result_info = "result[4]"}) {
    %c = stablehlo.constant dense<[2, 0, 1]> : tensor<3xi32>
    %c_0 = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
    %1 = stablehlo.compare LT, %arg5, %0, SIGNED : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
    %c_2 = stablehlo.constant dense<4> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
    %3 = stablehlo.add %arg5, %2 : tensor<3x3xi32>
    %4 = stablehlo.select %1, %3, %arg5 : tensor<3x3xi1>, tensor<3x3xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<3x3xi32>) -> tensor<3x3x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<3x3x1xi32>) -> tensor<3x3x6xf32>
    %7 = call @_take(%6, %c) : (tensor<3x3x6xf32>, tensor<3xi32>) -> tensor<3x3x6xf32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.compare LT, %arg6, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_4 = stablehlo.constant dense<8> : tensor<i32>
    %9 = stablehlo.add %arg6, %c_4 : tensor<i32>
    %10 = stablehlo.select %8, %9, %arg6 : tensor<i1>, tensor<i32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %c_6 = stablehlo.constant dense<1> : tensor<i32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.dynamic_slice %arg3, %c_5, %10, %c_6, %c_7, sizes = [2, 6, 6, 4] : (tensor<2x8x8x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x6x6x4xf32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %12 = stablehlo.compare LT, %arg6, %c_8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_9 = stablehlo.constant dense<8> : tensor<i32>
    %13 = stablehlo.add %arg6, %c_9 : tensor<i32>
    %14 = stablehlo.select %12, %13, %arg6 : tensor<i1>, tensor<i32>
    %c_10 = stablehlo.constant dense<0> : tensor<i32>
    %c_11 = stablehlo.constant dense<0> : tensor<i32>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %15 = stablehlo.dynamic_update_slice %arg3, %arg4, %c_10, %14, %c_11, %c_12 : (tensor<2x8x8x4xf32>, tensor<2x2x3x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x8x8x4xf32>
    %16 = stablehlo.convolution(%11, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x6x6x4xf32>, tensor<3x2x4x3xf32>) -> tensor<2x3x6x3xf32>
    %17 = stablehlo.convolution(%15, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 0], [0, 1]], lhs_dilate = [2, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x4xf32>, tensor<2x2x1x8xf32>) -> tensor<2x15x8x8xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %19 = "stablehlo.reduce_window"(%16, %18) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 1], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 1, 2, 1>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %55 = stablehlo.maximum %arg7, %arg8 : tensor<f32>
      stablehlo.return %55 : tensor<f32>
    }) : (tensor<2x3x6x3xf32>, tensor<f32>) -> tensor<2x3x3x3xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<f32>
    %21 = "stablehlo.reduce_window"(%17, %20) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 3, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %55 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %55 : tensor<f32>
    }) : (tensor<2x15x8x8xf32>, tensor<f32>) -> tensor<2x7x4x8xf32>
    %cst_14 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x7x4x8xf32>
    %23 = stablehlo.divide %21, %22 : tensor<2x7x4x8xf32>
    %cst_15 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %24 = stablehlo.pad %19, %cst_15, low = [0, 1, 0, 0], high = [0, 2, -1, 0], interior = [0, 1, 0, 0] : (tensor<2x3x3x3xf32>, tensor<f32>) -> tensor<2x8x2x3xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
    %26 = stablehlo.slice %arg5 [0:3, 0:1] : (tensor<3x3xi32>) -> tensor<3x1xi32>
    %27 = stablehlo.reshape %26 : (tensor<3x1xi32>) -> tensor<3xi32>
    %28 = stablehlo.slice %7 [0:3, 0:1, 0:5] : (tensor<3x3x6xf32>) -> tensor<3x1x5xf32>
    %29 = stablehlo.reshape %28 : (tensor<3x1x5xf32>) -> tensor<3x5xf32>
    %c_17 = stablehlo.constant dense<0> : tensor<i32>
    %30 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %31 = stablehlo.compare LT, %27, %30, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_18 = stablehlo.constant dense<4> : tensor<i32>
    %32 = stablehlo.broadcast_in_dim %c_18, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %33 = stablehlo.add %27, %32 : tensor<3xi32>
    %34 = stablehlo.select %31, %33, %27 : tensor<3xi1>, tensor<3xi32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %36 = "stablehlo.scatter"(%25, %35, %29) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %55 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %55 : tensor<f32>
    }) : (tensor<4x5xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %37 = stablehlo.slice %7 [0:2, 1:2, 0:5] : (tensor<3x3x6xf32>) -> tensor<2x1x5xf32>
    %38 = stablehlo.reshape %37 : (tensor<2x1x5xf32>) -> tensor<2x5xf32>
    %cst_19 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<2x5xf32>
    %40 = stablehlo.multiply %38, %39 : tensor<2x5xf32>
    %c_20 = stablehlo.constant dense<0> : tensor<i32>
    %41 = stablehlo.broadcast_in_dim %c_20, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %42 = stablehlo.compare LT, %c_0, %41, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %c_21 = stablehlo.constant dense<4> : tensor<i32>
    %43 = stablehlo.broadcast_in_dim %c_21, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %44 = stablehlo.add %c_0, %43 : tensor<2xi32>
    %45 = stablehlo.select %42, %44, %c_0 : tensor<2xi1>, tensor<2xi32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %47 = "stablehlo.scatter"(%36, %46, %40) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      stablehlo.return %arg8 : tensor<f32>
    }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
    %48 = stablehlo.slice %7 [0:3, 0:3, 0:4] : (tensor<3x3x6xf32>) -> tensor<3x3x4xf32>
    %49 = call @sort(%48) : (tensor<3x3x4xf32>) -> tensor<3x3x4xf32>
    %50 = stablehlo.iota dim = 0 : tensor<4xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [2] : (tensor<4xf32>) -> tensor<1x1x4xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2] : (tensor<1x1x4xf32>) -> tensor<3x3x4xf32>
    %53 = stablehlo.multiply %49, %52 : tensor<3x3x4xf32>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%7 init: %cst_22) applies stablehlo.add across dimensions = [1] : (tensor<3x3x6xf32>, tensor<f32>) -> tensor<3x6xf32>
    return %54, %24, %23, %47, %53 : tensor<3x6xf32>, tensor<2x8x2x3xf32>, tensor<2x7x4x8xf32>, tensor<4x5xf32>, tensor<3x3x4xf32>
  }
  func.func private @_take(%arg0: tensor<3x3x6xf32>, %arg1: tensor<3xi32>) -> tensor<3x3x6xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_0 = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<3xi32>
    %4 = call @_where(%1, %3, %arg1) : (tensor<3xi1>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %c_1 = stablehlo.constant dense<2> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<3x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<3x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [1] : (tensor<3x1xi1>, tensor<i1>) -> tensor<3xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1, 6>}> : (tensor<3x3x6xf32>, tensor<3x1xi32>) -> tensor<3x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [1] : (tensor<3xi1>) -> tensor<3x3x6xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3x6xf32>
    %16 = stablehlo.select %14, %13, %15 : tensor<3x3x6xi1>, tensor<3x3x6xf32>
    return %16 : tensor<3x3x6xf32>
  }
  func.func private @_where(%arg0: tensor<3xi1>, %arg1: tensor<3xi32>, %arg2: tensor<3xi32>) -> tensor<3xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func private @sort(%arg0: tensor<3x3x4xf32>) -> tensor<3x3x4xf32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 2 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %1 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %4 = stablehlo.select %3, %cst_1, %2 : tensor<i1>, tensor<f32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %5 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.select %5, %cst_3, %arg2 : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %8 = stablehlo.select %7, %cst_4, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<3x3x4xf32>) -> tensor<3x3x4xf32>
    return %0 : tensor<3x3x4xf32>
  }
}
