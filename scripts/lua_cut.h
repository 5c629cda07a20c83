/* lua_cut.h - how a policy writes a cut of one dim.
 *
 *     "tp"   "tp:(1)2"   {"dp", "tp"}   {}   {axis = "tp", interleave = 3, unit = 64}
 *     {axis = "tp", blocks = {4096, 1024, 1024}}
 *
 * Axes are major first; none pins the dim whole. interleave = k makes k equal parts and cuts each:
 * 2304 is (3)(768/tp). blocks = {..} cuts each of blocks of unequal width: 6144 is
 * (4096|1024|1024)/tp. unit = u never separates u neighbours: 768 is (12/tp)(64). store = true says
 * where a parameter lies without saying how it is used; open = true leaves the dim to further axes.
 * priority = 1 is felt when pins of priority 0, the default, have gone as far as they go.
 */
#ifndef SCRIPTS_LUA_CUT_H
#define SCRIPTS_LUA_CUT_H

#include "core/layout/cut.h"

#include <lua.h>

typedef struct {
    int n;
    uint8_t atom[ATOMS_MAX];
    int64_t interleave, unit; /* at least 1 */
    int64_t block[DIGITS_MAX];
    int n_blocks; /* 0: none are given */
    bool store, open;
    int priority;
} CutSpec;

/* Reads the value at that place of the stack. ERROR_UNBOUND: an axis that the mesh does not have,
 * with the nearest as a hint; ERROR_CONFLICT: an axis twice; else ERROR_INVALID. */
bool cut_spec_read(lua_State *L, int at, const Mesh *mesh, CutSpec *out, Error *err);

/* Appends the atoms of one axis "tp" or of a list of them at that place of the stack. */
bool cut_axes_read(lua_State *L, int at, const Mesh *mesh, uint8_t *atom, int *n, Error *err);

/* The cut of a dim of that size; ERROR_NOT_DIVISIBLE when interleave and unit do not divide it, or
 * blocks do not add up to it.
 * What `axes` leave over is legal: sizes may be uneven. */
bool cut_spec_cut(const CutSpec *spec, int64_t size, const Mesh *mesh, Cut *out, Error *err);

#endif
