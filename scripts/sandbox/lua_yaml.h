/* lua_yaml.h - translates metakernel templates from YAML to Lua.
 *
 *     matmul:                               template "matmul" {
 *       index: "[$m, $n]"                     ["index"] = "[$m, $n]",
 *       inputs:                               ["inputs"] = {
 *         X:                                    {"X",
 *           shape: "[$m, $k]"                     ["shape"] = "[$m, $k]",
 *
 * Each line of the YAML becomes one line of Lua, so that errors have the lines of the file.
 * Supported are names by indentation, texts (plain or quoted, each on one line), true and false,
 * lists of texts (with dashes, or in brackets under enum, let and require) and comments; other YAML
 * is an error.
 */
#ifndef SCRIPTS_SANDBOX_LUA_YAML_H
#define SCRIPTS_SANDBOX_LUA_YAML_H

#include "core/base/error.h"
#include "core/base/str.h"

/* Appends the Lua text. ERROR_SYNTAX, with the place in the source. */
bool yaml_to_lua(Arena *arena, const Source *source, Buf *lua, Error *err);

#endif
