-- A loop that does not end, in line 5.
function PAS(graph, resource)
    local i = 0
    while true do
        i = i + 1
    end
end
