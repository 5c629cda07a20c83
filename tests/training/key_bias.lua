-- Attention whose keys have a bias: its gradient is zero in theory, so that rounding decides.
function MODEL(model)
  local x = model:input('x', 'f32', {4, 16, 32})
  local q = model:op('MatMul', {x, model:param('wq', {32, 32}, 'f32')})
  local k = model:op('MatMul', {x, model:param('wk', {32, 32}, 'f32')})
  local v = model:op('MatMul', {x, model:param('wv', {32, 32}, 'f32')})
  local b = model:param('b', {96}, 'f32')
  local y = model:op('com.microsoft::MultiHeadAttention', {q, k, v, b}, {num_heads = 4})
  model:output(model:op('ReduceMean', {model:op('Mul', {y, y})}, {keepdims = 0}), 'loss')
end
