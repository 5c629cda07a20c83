/* json_forms.h - meshes, shardings and steps as JSON, in the forms of the eval protocol.
 *
 *     mesh       {"axes": [["dp",2],["tp",4]], "devices": [0,1,..]}
 *     sharding   {"dims": [["dp"],[],["tp:(1)2"]], "unreduced": ["tp"], "text":
 *     "8/dp,4,6/tp:(1)2"}
 *                "halo": [{"dim": 2, "before": 1, "after": 1}], if a dim has one: "around": true,
 * it goes on at the other end of the dim; {"dim": 1, "carry": "after"}, a running sum is added to
 * the parts "after" (or "before") each; {"dim": 1, "ring": 1}, the parts go around a ring so often
 *     step       {"kind": "all_reduce", "axes": ["tp"], "bytes": N, "wire_bytes": N, "us": T}
 *
 * `plan --json`, plan files and eval all use these writers. What a form cannot express is null: a
 * dim in blocks, (3)(768/tp), among "dims"; dims_mapping, partial or placements as a whole. "text"
 * is always complete. "dims" leaves out halos. The caller owns what is returned.
 */
#ifndef CORE_PLAN_JSON_FORMS_H
#define CORE_PLAN_JSON_FORMS_H

#include "core/base/json.h"
#include "core/model/finding.h"
#include "core/reshard/reshard.h"

Json *json_of_mesh(const Mesh *mesh);
/* [8,1024]; null for an unknown size, [null,1024], and for NULL: nothing is known. */
Json *json_of_shape(const Shape *shape);

/* Axis references of a list of atoms or of a set: ["dp","tp:(1)2"]. */
Json *json_of_atoms(const uint8_t *atom, int n, const Mesh *mesh);
Json *json_of_atom_set(AtomSet atoms, const Mesh *mesh);

Json *json_of_sharding(const Sharding *sharding, const Mesh *mesh);
Json *json_of_dims_mapping(const Sharding *sharding, const Mesh *mesh); /* [0,-1], [[0,1],[]] */
Json *json_of_partial(const Sharding *sharding, const Mesh *mesh);      /* {"1":"sum"} */
Json *json_of_placements(const Sharding *sharding, const Mesh *mesh);   /* ["S(0)","P(sum)"] */

Json *json_of_step(const Step *step, const Mesh *mesh);
Json *json_of_finding(const Finding *finding);
Json *json_of_findings(const Findings *findings); /* an array */

#endif
