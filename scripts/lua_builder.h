/* lua_builder.h - which file builds the model that a config.json describes.
 *
 * "model_type" names it: TYPE.lua beside the config, in the user's folder, or shipped. The config
 * of a model of images, sounds or both may have a type that nothing builds: its language model is
 * opened then, the object "text_config", or the config itself where an older one has the fields of
 * TYPE_text in it.
 */
#ifndef SCRIPTS_LUA_BUILDER_H
#define SCRIPTS_LUA_BUILDER_H

#include "scripts/data_dirs.h"
#include "scripts/lua_model.h"

/* The path of the file; sets request->values and within, and gives the text_config what it shares
 * with the config that it stands in. NULL with *err. */
const char *builder_choose(const DataDirs *dirs, const Source *config, Json *values,
                           ModelRequest *request, Error *err);

#endif
