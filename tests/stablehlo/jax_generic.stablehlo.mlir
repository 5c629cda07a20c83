"builtin.module"() <{sym_name = "jit_loops"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<3x4xf32>, tensor<1xi32>, tensor<2xui32>) -> (tensor<4xf32>, tensor<3xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<3xi32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<1x4xf32>, tensor<3xf32>, tensor<4xi1>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}, {jax.result_info = "result[6]"}, {jax.result_info = "result[7]"}, {jax.result_info = "result[8]"}, {jax.result_info = "result[9]"}, {jax.result_info = "result[10]"}, {jax.result_info = "result[11]"}, {jax.result_info = "result[12]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg91: tensor<3x4xf32>, %arg92: tensor<1xi32>, %arg93: tensor<2xui32>):
    %276 = "stablehlo.constant"() <{value = dense<[true, false, true, true]> : tensor<4xi1>}> : () -> tensor<4xi1>
    %277 = "stablehlo.slice"(%arg91) <{limit_indices = array<i64: 1, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x4xf32>) -> tensor<1x4xf32>
    %278 = "stablehlo.reshape"(%277) : (tensor<1x4xf32>) -> tensor<4xf32>
    %279 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %280 = "stablehlo.broadcast_in_dim"(%279) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %281 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %282:4 = "stablehlo.while"(%arg91, %281, %278, %280) ({
    ^bb0(%arg100: tensor<3x4xf32>, %arg101: tensor<i32>, %arg102: tensor<4xf32>, %arg103: tensor<3xf32>):
      %336 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
      %337 = "stablehlo.compare"(%arg101, %336) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%337) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg96: tensor<3x4xf32>, %arg97: tensor<i32>, %arg98: tensor<4xf32>, %arg99: tensor<3xf32>):
      %331 = "func.call"(%arg96, %arg97) <{callee = @dynamic_index_in_dim}> : (tensor<3x4xf32>, tensor<i32>) -> tensor<4xf32>
      %332:2 = "func.call"(%arg98, %331) <{callee = @closed_call}> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
      %333 = "func.call"(%arg99, %332#1, %arg97) <{callee = @dynamic_update_index_in_dim}> : (tensor<3xf32>, tensor<f32>, tensor<i32>) -> tensor<3xf32>
      %334 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %335 = "stablehlo.add"(%arg97, %334) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg96, %335, %332#0, %333) : (tensor<3x4xf32>, tensor<i32>, tensor<4xf32>, tensor<3xf32>) -> ()
    }) : (tensor<3x4xf32>, tensor<i32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<3x4xf32>, tensor<i32>, tensor<4xf32>, tensor<3xf32>)
    %283 = "stablehlo.reshape"(%arg92) : (tensor<1xi32>) -> tensor<i32>
    %284 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %285 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %286 = "stablehlo.clamp"(%284, %283, %285) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %287 = "stablehlo.case"(%286) ({
      "stablehlo.return"(%arg91) : (tensor<3x4xf32>) -> ()
    }, {
      %328 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %329 = "stablehlo.broadcast_in_dim"(%328) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
      %330 = "stablehlo.dot_general"(%arg91, %329) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
      "stablehlo.return"(%330) : (tensor<3x4xf32>) -> ()
    }, {
      %327 = "stablehlo.sine"(%arg91) : (tensor<3x4xf32>) -> tensor<3x4xf32>
      "stablehlo.return"(%327) : (tensor<3x4xf32>) -> ()
    }) : (tensor<i32>) -> tensor<3x4xf32>
    %288 = "stablehlo.slice"(%arg91) <{limit_indices = array<i64: 1, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x4xf32>) -> tensor<1x4xf32>
    %289 = "stablehlo.reshape"(%288) : (tensor<1x4xf32>) -> tensor<4xf32>
    %290 = "func.call"(%289) <{callee = @cumlogsumexp}> : (tensor<4xf32>) -> tensor<4xf32>
    %291 = "func.call"(%arg91) <{callee = @argmax}> : (tensor<3x4xf32>) -> tensor<3xi32>
    %292 = "func.call"(%arg91) <{callee = @sort}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %293 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %294 = "stablehlo.broadcast_in_dim"(%293) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %295 = "stablehlo.compare"(%arg92, %294) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %296 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %297 = "stablehlo.broadcast_in_dim"(%296) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %298 = "stablehlo.add"(%arg92, %297) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    %299 = "stablehlo.select"(%295, %298, %arg92) : (tensor<1xi1>, tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    %300 = "stablehlo.broadcast_in_dim"(%299) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xi32>) -> tensor<1x1xi32>
    %301 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %302 = "stablehlo.broadcast_in_dim"(%301) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x4xf32>
    %303 = "stablehlo.scatter"(%arg91, %300, %302) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg94: tensor<f32>, %arg95: tensor<f32>):
      %326 = "stablehlo.add"(%arg94, %arg95) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%326) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<1x1xi32>, tensor<1x4xf32>) -> tensor<3x4xf32>
    %304 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %305 = "stablehlo.broadcast_in_dim"(%304) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %306 = "stablehlo.compare"(%arg92, %305) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %307 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %308 = "stablehlo.broadcast_in_dim"(%307) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %309 = "stablehlo.add"(%arg92, %308) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    %310 = "stablehlo.select"(%306, %309, %arg92) : (tensor<1xi1>, tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    %311 = "stablehlo.broadcast_in_dim"(%310) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xi32>) -> tensor<1x1xi32>
    %312 = "stablehlo.gather"(%arg91, %311) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<1x1xi32>) -> tensor<1x4xf32>
    %313 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %314 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %315 = "func.call"(%arg93, %313, %314) <{callee = @_uniform}> : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
    %316 = "stablehlo.constant"() <{value = dense<3.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %317 = "func.call"(%arg93, %316) <{callee = @_bernoulli}> : (tensor<2xui32>, tensor<f32>) -> tensor<4xi1>
    %318 = "chlo.erfc"(%arg91) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %319 = "stablehlo.abs"(%arg91) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %320 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %321 = "stablehlo.broadcast_in_dim"(%320) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x4xf32>
    %322 = "stablehlo.add"(%319, %321) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %323 = "chlo.lgamma"(%322) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %324 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %325 = "func.call"(%276, %arg91, %324) <{callee = @_where}> : (tensor<4xi1>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    "func.return"(%282#2, %282#3, %287, %290, %291, %292, %303, %312, %315, %317, %318, %323, %325) : (tensor<4xf32>, tensor<3xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<3xi32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<1x4xf32>, tensor<3xf32>, tensor<4xi1>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x4xf32>, tensor<i32>) -> tensor<4xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg89: tensor<3x4xf32>, %arg90: tensor<i32>):
    %273 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %274 = "stablehlo.dynamic_slice"(%arg89, %arg90, %273) <{slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %275 = "stablehlo.reshape"(%274) : (tensor<1x4xf32>) -> tensor<4xf32>
    "func.return"(%275) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>), res_attrs = [{}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg85: tensor<4xf32>, %arg86: tensor<4xf32>):
    %268 = "stablehlo.add"(%arg85, %arg86) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %269 = "stablehlo.tanh"(%268) : (tensor<4xf32>) -> tensor<4xf32>
    %270 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %271 = "stablehlo.reduce"(%arg85, %270) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg87: tensor<f32>, %arg88: tensor<f32>):
      %272 = "stablehlo.add"(%arg87, %arg88) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%272) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%269, %271) : (tensor<4xf32>, tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<3xf32>, tensor<f32>, tensor<i32>) -> tensor<3xf32>, res_attrs = [{}], sym_name = "dynamic_update_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg82: tensor<3xf32>, %arg83: tensor<f32>, %arg84: tensor<i32>):
    %266 = "stablehlo.broadcast_in_dim"(%arg83) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %267 = "stablehlo.dynamic_update_slice"(%arg82, %266, %arg84) : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
    "func.return"(%267) : (tensor<3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "cumlogsumexp", sym_visibility = "private"}> ({
  ^bb0(%arg79: tensor<4xf32>):
    %254 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %255 = "stablehlo.reduce_window"(%arg79, %254) <{base_dilations = array<i64: 1>, padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 4>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg80: tensor<f32>, %arg81: tensor<f32>):
      %256 = "stablehlo.maximum"(%arg80, %arg81) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %257 = "stablehlo.subtract"(%arg80, %arg81) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %258 = "stablehlo.compare"(%257, %257) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %259 = "stablehlo.add"(%arg80, %arg81) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %260 = "stablehlo.abs"(%257) : (tensor<f32>) -> tensor<f32>
      %261 = "stablehlo.negate"(%260) : (tensor<f32>) -> tensor<f32>
      %262 = "stablehlo.exponential"(%261) : (tensor<f32>) -> tensor<f32>
      %263 = "stablehlo.log_plus_one"(%262) : (tensor<f32>) -> tensor<f32>
      %264 = "stablehlo.add"(%256, %263) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %265 = "stablehlo.select"(%258, %259, %264) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%265) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    "func.return"(%255) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x4xf32>) -> tensor<3xi32>, sym_name = "argmax", sym_visibility = "private"}> ({
  ^bb0(%arg74: tensor<3x4xf32>):
    %241 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x4xi32>
    %242 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %243 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %244:2 = "stablehlo.reduce"(%arg74, %241, %242, %243) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg75: tensor<f32>, %arg76: tensor<i32>, %arg77: tensor<f32>, %arg78: tensor<i32>):
      %245 = "stablehlo.compare"(%arg75, %arg77) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %246 = "stablehlo.compare"(%arg75, %arg75) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %247 = "stablehlo.or"(%245, %246) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %248 = "stablehlo.compare"(%arg75, %arg77) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %249 = "stablehlo.compare"(%arg76, %arg78) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %250 = "stablehlo.and"(%248, %249) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %251 = "stablehlo.or"(%247, %250) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %252 = "stablehlo.select"(%247, %arg75, %arg77) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %253 = "stablehlo.select"(%251, %arg76, %arg78) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%252, %253) : (tensor<f32>, tensor<i32>) -> ()
    }) : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
    "func.return"(%244#1) : (tensor<3xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x4xf32>) -> tensor<3x4xf32>, res_attrs = [{}], sym_name = "sort", sym_visibility = "private"}> ({
  ^bb0(%arg71: tensor<3x4xf32>):
    %225 = "stablehlo.sort"(%arg71) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg72: tensor<f32>, %arg73: tensor<f32>):
      %226 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %227 = "stablehlo.compare"(%arg72, %226) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %228 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %229 = "stablehlo.select"(%227, %228, %arg72) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %230 = "stablehlo.compare"(%arg72, %arg72) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %231 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
      %232 = "stablehlo.select"(%230, %231, %229) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %233 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %234 = "stablehlo.compare"(%arg73, %233) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %235 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %236 = "stablehlo.select"(%234, %235, %arg73) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %237 = "stablehlo.compare"(%arg73, %arg73) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %238 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
      %239 = "stablehlo.select"(%237, %238, %236) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %240 = "stablehlo.compare"(%232, %239) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%240) : (tensor<i1>) -> ()
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%225) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>, res_attrs = [{}], sym_name = "_uniform", sym_visibility = "private"}> ({
  ^bb0(%arg68: tensor<2xui32>, %arg69: tensor<f32>, %arg70: tensor<f32>):
    %189 = "stablehlo.convert"(%arg69) : (tensor<f32>) -> tensor<f32>
    %190 = "stablehlo.convert"(%arg70) : (tensor<f32>) -> tensor<f32>
    %191 = "stablehlo.broadcast_in_dim"(%189) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %192 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %193 = "stablehlo.slice"(%arg68) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %194 = "stablehlo.reshape"(%193) : (tensor<1xui32>) -> tensor<ui32>
    %195 = "stablehlo.slice"(%arg68) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %196 = "stablehlo.reshape"(%195) : (tensor<1xui32>) -> tensor<ui32>
    %197 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3xui64>
    %198 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %199 = "stablehlo.broadcast_in_dim"(%198) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<3xui64>
    %200 = "stablehlo.multiply"(%199, %197) : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
    %201 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %202 = "stablehlo.broadcast_in_dim"(%201) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<3xui64>
    %203 = "stablehlo.shift_right_logical"(%200, %202) : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
    %204 = "stablehlo.convert"(%200) : (tensor<3xui64>) -> tensor<3xui32>
    %205 = "stablehlo.convert"(%203) : (tensor<3xui64>) -> tensor<3xui32>
    %206:2 = "func.call"(%194, %196, %205, %204) <{callee = @threefry2x32}> : (tensor<ui32>, tensor<ui32>, tensor<3xui32>, tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>)
    %207 = "stablehlo.xor"(%206#0, %206#1) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %208 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %209 = "stablehlo.broadcast_in_dim"(%208) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %210 = "stablehlo.shift_right_logical"(%207, %209) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %211 = "stablehlo.constant"() <{value = dense<1065353216> : tensor<ui32>}> : () -> tensor<ui32>
    %212 = "stablehlo.broadcast_in_dim"(%211) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %213 = "stablehlo.or"(%210, %212) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %214 = "stablehlo.bitcast_convert"(%213) : (tensor<3xui32>) -> tensor<3xf32>
    %215 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %216 = "stablehlo.broadcast_in_dim"(%215) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %217 = "stablehlo.subtract"(%214, %216) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %218 = "stablehlo.subtract"(%192, %191) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %219 = "stablehlo.broadcast_in_dim"(%218) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<3xf32>
    %220 = "stablehlo.multiply"(%217, %219) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %221 = "stablehlo.broadcast_in_dim"(%191) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<3xf32>
    %222 = "stablehlo.add"(%220, %221) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %223 = "stablehlo.broadcast_in_dim"(%191) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<3xf32>
    %224 = "stablehlo.maximum"(%223, %222) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%224) : (tensor<3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<3xui32>, tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>), sym_name = "threefry2x32", sym_visibility = "private"}> ({
  ^bb0(%arg46: tensor<ui32>, %arg47: tensor<ui32>, %arg48: tensor<3xui32>, %arg49: tensor<3xui32>):
    %172 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %173 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %174 = "stablehlo.xor"(%arg46, %arg47) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %175 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %176 = "stablehlo.xor"(%174, %175) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %177 = "stablehlo.broadcast_in_dim"(%arg46) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %178 = "stablehlo.add"(%arg48, %177) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %179 = "stablehlo.broadcast_in_dim"(%arg47) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %180 = "stablehlo.add"(%arg49, %179) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %181 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %182 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %183:9 = "stablehlo.while"(%182, %181, %178, %180, %arg47, %176, %arg46, %172, %173) ({
    ^bb0(%arg59: tensor<i32>, %arg60: tensor<i32>, %arg61: tensor<3xui32>, %arg62: tensor<3xui32>, %arg63: tensor<ui32>, %arg64: tensor<ui32>, %arg65: tensor<ui32>, %arg66: tensor<4xui32>, %arg67: tensor<4xui32>):
      %187 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %188 = "stablehlo.compare"(%arg59, %187) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%188) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg50: tensor<i32>, %arg51: tensor<i32>, %arg52: tensor<3xui32>, %arg53: tensor<3xui32>, %arg54: tensor<ui32>, %arg55: tensor<ui32>, %arg56: tensor<ui32>, %arg57: tensor<4xui32>, %arg58: tensor<4xui32>):
      %184:8 = "func.call"(%arg51, %arg52, %arg53, %arg54, %arg55, %arg56, %arg57, %arg58) <{callee = @closed_call_0}> : (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %185 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %186 = "stablehlo.add"(%arg50, %185) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%186, %184#0, %184#1, %184#2, %184#3, %184#4, %184#5, %184#6, %184#7) : (tensor<i32>, tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%183#2, %183#3) : (tensor<3xui32>, tensor<3xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call_0", sym_visibility = "private"}> ({
  ^bb0(%arg38: tensor<i32>, %arg39: tensor<3xui32>, %arg40: tensor<3xui32>, %arg41: tensor<ui32>, %arg42: tensor<ui32>, %arg43: tensor<ui32>, %arg44: tensor<4xui32>, %arg45: tensor<4xui32>):
    %117 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %118 = "stablehlo.add"(%arg38, %117) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %119 = "stablehlo.slice"(%arg44) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %120 = "stablehlo.reshape"(%119) : (tensor<1xui32>) -> tensor<ui32>
    %121 = "stablehlo.add"(%arg39, %arg40) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %122 = "stablehlo.broadcast_in_dim"(%120) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %123 = "stablehlo.shift_left"(%arg40, %122) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %124 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %125 = "stablehlo.subtract"(%124, %120) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %126 = "stablehlo.broadcast_in_dim"(%125) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %127 = "stablehlo.shift_right_logical"(%arg40, %126) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %128 = "stablehlo.or"(%123, %127) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %129 = "stablehlo.xor"(%121, %128) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %130 = "stablehlo.slice"(%arg44) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %131 = "stablehlo.reshape"(%130) : (tensor<1xui32>) -> tensor<ui32>
    %132 = "stablehlo.add"(%121, %129) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %133 = "stablehlo.broadcast_in_dim"(%131) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %134 = "stablehlo.shift_left"(%129, %133) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %135 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %136 = "stablehlo.subtract"(%135, %131) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %138 = "stablehlo.shift_right_logical"(%129, %137) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %139 = "stablehlo.or"(%134, %138) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %140 = "stablehlo.xor"(%132, %139) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %141 = "stablehlo.slice"(%arg44) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %142 = "stablehlo.reshape"(%141) : (tensor<1xui32>) -> tensor<ui32>
    %143 = "stablehlo.add"(%132, %140) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %144 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %145 = "stablehlo.shift_left"(%140, %144) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %146 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %147 = "stablehlo.subtract"(%146, %142) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %148 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %149 = "stablehlo.shift_right_logical"(%140, %148) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %150 = "stablehlo.or"(%145, %149) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %151 = "stablehlo.xor"(%143, %150) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %152 = "stablehlo.slice"(%arg44) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %153 = "stablehlo.reshape"(%152) : (tensor<1xui32>) -> tensor<ui32>
    %154 = "stablehlo.add"(%143, %151) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %155 = "stablehlo.broadcast_in_dim"(%153) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %156 = "stablehlo.shift_left"(%151, %155) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %157 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %158 = "stablehlo.subtract"(%157, %153) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %160 = "stablehlo.shift_right_logical"(%151, %159) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %161 = "stablehlo.or"(%156, %160) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %162 = "stablehlo.xor"(%154, %161) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %163 = "stablehlo.broadcast_in_dim"(%arg41) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %164 = "stablehlo.add"(%154, %163) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %165 = "stablehlo.broadcast_in_dim"(%arg42) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %166 = "stablehlo.add"(%162, %165) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %167 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %168 = "stablehlo.add"(%arg38, %167) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %169 = "stablehlo.convert"(%168) : (tensor<i32>) -> tensor<ui32>
    %170 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3xui32>
    %171 = "stablehlo.add"(%166, %170) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    "func.return"(%118, %164, %171, %arg42, %arg43, %arg41, %arg45, %arg44) : (tensor<i32>, tensor<3xui32>, tensor<3xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2xui32>, tensor<f32>) -> tensor<4xi1>, res_attrs = [{}], sym_name = "_bernoulli", sym_visibility = "private"}> ({
  ^bb0(%arg36: tensor<2xui32>, %arg37: tensor<f32>):
    %112 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %113 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %114 = "func.call"(%arg36, %112, %113) <{callee = @_uniform_1}> : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
    %115 = "stablehlo.broadcast_in_dim"(%arg37) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %116 = "stablehlo.compare"(%114, %115) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    "func.return"(%116) : (tensor<4xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>, res_attrs = [{}], sym_name = "_uniform_1", sym_visibility = "private"}> ({
  ^bb0(%arg33: tensor<2xui32>, %arg34: tensor<f32>, %arg35: tensor<f32>):
    %76 = "stablehlo.convert"(%arg34) : (tensor<f32>) -> tensor<f32>
    %77 = "stablehlo.convert"(%arg35) : (tensor<f32>) -> tensor<f32>
    %78 = "stablehlo.broadcast_in_dim"(%76) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %79 = "stablehlo.broadcast_in_dim"(%77) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %80 = "stablehlo.slice"(%arg33) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %81 = "stablehlo.reshape"(%80) : (tensor<1xui32>) -> tensor<ui32>
    %82 = "stablehlo.slice"(%arg33) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %83 = "stablehlo.reshape"(%82) : (tensor<1xui32>) -> tensor<ui32>
    %84 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xui64>
    %85 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %86 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<4xui64>
    %87 = "stablehlo.multiply"(%86, %84) : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xui64>
    %88 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %89 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<4xui64>
    %90 = "stablehlo.shift_right_logical"(%87, %89) : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xui64>
    %91 = "stablehlo.convert"(%87) : (tensor<4xui64>) -> tensor<4xui32>
    %92 = "stablehlo.convert"(%90) : (tensor<4xui64>) -> tensor<4xui32>
    %93:2 = "func.call"(%81, %83, %92, %91) <{callee = @threefry2x32_2}> : (tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<4xui32>, tensor<4xui32>)
    %94 = "stablehlo.xor"(%93#0, %93#1) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %95 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %96 = "stablehlo.broadcast_in_dim"(%95) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %97 = "stablehlo.shift_right_logical"(%94, %96) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %98 = "stablehlo.constant"() <{value = dense<1065353216> : tensor<ui32>}> : () -> tensor<ui32>
    %99 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %100 = "stablehlo.or"(%97, %99) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %101 = "stablehlo.bitcast_convert"(%100) : (tensor<4xui32>) -> tensor<4xf32>
    %102 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %103 = "stablehlo.broadcast_in_dim"(%102) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %104 = "stablehlo.subtract"(%101, %103) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %105 = "stablehlo.subtract"(%79, %78) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %106 = "stablehlo.broadcast_in_dim"(%105) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<4xf32>
    %107 = "stablehlo.multiply"(%104, %106) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %108 = "stablehlo.broadcast_in_dim"(%78) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<4xf32>
    %109 = "stablehlo.add"(%107, %108) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %110 = "stablehlo.broadcast_in_dim"(%78) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<4xf32>
    %111 = "stablehlo.maximum"(%110, %109) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%111) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<4xui32>, tensor<4xui32>), sym_name = "threefry2x32_2", sym_visibility = "private"}> ({
  ^bb0(%arg11: tensor<ui32>, %arg12: tensor<ui32>, %arg13: tensor<4xui32>, %arg14: tensor<4xui32>):
    %59 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %60 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %61 = "stablehlo.xor"(%arg11, %arg12) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %62 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %63 = "stablehlo.xor"(%61, %62) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %64 = "stablehlo.broadcast_in_dim"(%arg11) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %65 = "stablehlo.add"(%arg13, %64) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %66 = "stablehlo.broadcast_in_dim"(%arg12) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %67 = "stablehlo.add"(%arg14, %66) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %68 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %69 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %70:9 = "stablehlo.while"(%69, %68, %65, %67, %arg12, %63, %arg11, %59, %60) ({
    ^bb0(%arg24: tensor<i32>, %arg25: tensor<i32>, %arg26: tensor<4xui32>, %arg27: tensor<4xui32>, %arg28: tensor<ui32>, %arg29: tensor<ui32>, %arg30: tensor<ui32>, %arg31: tensor<4xui32>, %arg32: tensor<4xui32>):
      %74 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %75 = "stablehlo.compare"(%arg24, %74) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%75) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg15: tensor<i32>, %arg16: tensor<i32>, %arg17: tensor<4xui32>, %arg18: tensor<4xui32>, %arg19: tensor<ui32>, %arg20: tensor<ui32>, %arg21: tensor<ui32>, %arg22: tensor<4xui32>, %arg23: tensor<4xui32>):
      %71:8 = "func.call"(%arg16, %arg17, %arg18, %arg19, %arg20, %arg21, %arg22, %arg23) <{callee = @closed_call_3}> : (tensor<i32>, tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %72 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %73 = "stablehlo.add"(%arg15, %72) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%73, %71#0, %71#1, %71#2, %71#3, %71#4, %71#5, %71#6, %71#7) : (tensor<i32>, tensor<i32>, tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%70#2, %70#3) : (tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call_3", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<i32>, %arg4: tensor<4xui32>, %arg5: tensor<4xui32>, %arg6: tensor<ui32>, %arg7: tensor<ui32>, %arg8: tensor<ui32>, %arg9: tensor<4xui32>, %arg10: tensor<4xui32>):
    %4 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.add"(%arg3, %4) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %6 = "stablehlo.slice"(%arg9) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %7 = "stablehlo.reshape"(%6) : (tensor<1xui32>) -> tensor<ui32>
    %8 = "stablehlo.add"(%arg4, %arg5) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %9 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %10 = "stablehlo.shift_left"(%arg5, %9) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %11 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %12 = "stablehlo.subtract"(%11, %7) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %14 = "stablehlo.shift_right_logical"(%arg5, %13) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %15 = "stablehlo.or"(%10, %14) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %16 = "stablehlo.xor"(%8, %15) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %17 = "stablehlo.slice"(%arg9) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %18 = "stablehlo.reshape"(%17) : (tensor<1xui32>) -> tensor<ui32>
    %19 = "stablehlo.add"(%8, %16) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %20 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %21 = "stablehlo.shift_left"(%16, %20) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %22 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %23 = "stablehlo.subtract"(%22, %18) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %25 = "stablehlo.shift_right_logical"(%16, %24) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %26 = "stablehlo.or"(%21, %25) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %27 = "stablehlo.xor"(%19, %26) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %28 = "stablehlo.slice"(%arg9) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %29 = "stablehlo.reshape"(%28) : (tensor<1xui32>) -> tensor<ui32>
    %30 = "stablehlo.add"(%19, %27) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %31 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %32 = "stablehlo.shift_left"(%27, %31) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %33 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %34 = "stablehlo.subtract"(%33, %29) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %36 = "stablehlo.shift_right_logical"(%27, %35) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %37 = "stablehlo.or"(%32, %36) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %38 = "stablehlo.xor"(%30, %37) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %39 = "stablehlo.slice"(%arg9) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %40 = "stablehlo.reshape"(%39) : (tensor<1xui32>) -> tensor<ui32>
    %41 = "stablehlo.add"(%30, %38) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %42 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %43 = "stablehlo.shift_left"(%38, %42) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %44 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %45 = "stablehlo.subtract"(%44, %40) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %47 = "stablehlo.shift_right_logical"(%38, %46) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %48 = "stablehlo.or"(%43, %47) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %49 = "stablehlo.xor"(%41, %48) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %50 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %51 = "stablehlo.add"(%41, %50) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %52 = "stablehlo.broadcast_in_dim"(%arg7) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %53 = "stablehlo.add"(%49, %52) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %54 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %55 = "stablehlo.add"(%arg3, %54) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %56 = "stablehlo.convert"(%55) : (tensor<i32>) -> tensor<ui32>
    %57 = "stablehlo.broadcast_in_dim"(%56) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4xui32>
    %58 = "stablehlo.add"(%53, %57) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    "func.return"(%5, %51, %58, %arg7, %arg8, %arg6, %arg10, %arg9) : (tensor<i32>, tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4xi1>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xi1>, %arg1: tensor<3x4xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xi1>) -> tensor<3x4xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x4xf32>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%3) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
