-- Right and wrong rules of all three kinds, for `rule --check`.

register_op('b m k+, b k+ n -> b m n', {name = 'my.bmm', kernel = 'MatMul'})
register_op('a b -> a b', {name = 'my.softmax', kernel = 'Softmax'}) -- b may not be cut
register_op('a b -> b a', {name = 'my.unknown'})                     -- no kernel

-- dims_mappings: right
register_rule('my.bmm', {letters = 'bmk,bkn->bmn'})
register_rule('maximum', {
  forward = function(inputs)
    local x, y = inputs[1], inputs[2]
    local of_x, of_y, of_out = spmd.binary_letters(x, y)
    local map = spmd.merge({{of_x, x}, {of_y, y}})
    return {spmd.mapping(of_x, map), spmd.mapping(of_y, map)}, {spmd.mapping(of_out, map)}
  end,
})
-- wrong: the axis of the softmax stays cut; addends of one operand pass a sum; a max is summed; a
-- mean of uneven parts is an average; out is split as no input is, which a backward rule may say
register_rule('my.softmax', {forward = function(inputs)
  return {inputs[1].dims_mapping}, {inputs[1].dims_mapping}
end})
register_rule('add', {forward = function(inputs)
  return {{dims_mapping = inputs[1].dims_mapping, partial = inputs[1].partial}, inputs[1].dims_mapping},
         {{dims_mapping = inputs[1].dims_mapping, partial = inputs[1].partial}}
end})
register_rule('Relu', {letters = 'ab->ab', reduce = 'sum'})
register_rule('max', {forward = function(inputs, attrs)
  local x = inputs[1]
  local map = spmd.merge({{spmd.letters(#x.shape), x}})
  return {x.dims_mapping}, {{dims_mapping = {}, partial = spmd.partial('', map, 'sum')}}
end})

-- strategies: right
register_strategy('my.bmm', function()
  return {'s(0), s(0) -> s(0)', 's(1), R -> s(1)', 'R, s(2) -> s(2)', 's(2), s(1) -> P(sum)'}
end)
register_strategy('softmax', {rule = function(inputs, attrs)
  local x = inputs[1].placements
  for axis, placement in ipairs(x) do
    if placement == 'S(' .. attrs.dim .. ')' or placement:sub(1, 1) == 'P' then
      local suggest = {table.unpack(x)}
      suggest[axis] = 'R'
      return {suggest = {suggest}, why = 'the softmax reads all of it'}
    end
  end
  return {outputs = {x}}
end})
-- wrong: linear in one operand of two, in both of a product; an average of uneven parts; a
-- conjunction summed
register_strategy('add', function() return {'P(sum), R -> P(sum)'} end)
register_strategy('mul', function() return {'P(sum), P(sum) -> P(sum)'} end)
register_strategy('mean', function() return {'S(0) -> P(avg)', 'S(1) -> P(avg)'} end)
register_strategy('all', function() return {'S(0) -> S(0)', 'S(1) -> P(sum)'} end)
register_strategy('my.unknown', function() return {'S(0) -> S(1)'} end)
