-- include.lua: templates of a file in YAML.
include "longer"
