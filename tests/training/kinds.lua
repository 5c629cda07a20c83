-- kinds: a node of h100x8 and one of a100x8.
return {name = "kinds", source = "a test", kinds = {
    {devices = 8, machine = include "h100x8"},
    {devices = 8, machine = include "a100x8"}}}
