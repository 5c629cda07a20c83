/* lua_cut.h - reads the sharding of one dim as policies write it: "tp", {"dp", "tp"}, {axis = ..}.
 *
 * `dimscope help lua.cut_table` explains the fields. Axes are major first; none pins the dim as not
 * sharded.
 */
#ifndef SCRIPTS_LUA_CUT_H
#define SCRIPTS_LUA_CUT_H

#include "core/layout/cut.h"
#include "core/layout/weights.h"
#include "core/step/stored.h"

#include <lua.h>

typedef struct {
    int n;
    uint8_t atom[ATOMS_MAX];
    int64_t interleave, unit; /* at least 1 */
    int64_t block[DIGITS_MAX];
    int n_blocks; /* 0: not given */
    int n_sizes;
    uint8_t store; /* a set of Stored */
    bool keep, open, ring, zigzag;
    int priority;
    int64_t size[WEIGHTS_MAX]; /* of the parts; only n_sizes of them are set */
} CutSpec;

/* Reads the value at that place of the stack. ERROR_UNBOUND: an axis that the mesh does not have,
 * with the nearest as a hint; ERROR_CONFLICT: an axis twice; else ERROR_INVALID. */
bool cut_spec_read(lua_State *L, int at, const Mesh *mesh, CutSpec *out, Error *err);

/* Appends the atoms of one axis "tp" or of a list of them at that place of the stack. */
bool cut_axes_read(lua_State *L, int at, const Mesh *mesh, uint8_t *atom, int *n, Error *err);

/* The cut of a dim of that size; ERROR_NOT_DIVISIBLE when interleave and unit do not divide it, or
 * blocks or sizes do not add up to it.
 * What `axes` leave over is legal: sizes may be uneven. */
bool cut_spec_cut(const CutSpec *spec, int64_t size, const Mesh *mesh, Cut *out, Error *err);

#endif
