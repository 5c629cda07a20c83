/* code_text.h - what every module for torch's DTensor has, whatever the plan: Python.
 *
 * The tables that it works on, PARAMETERS and the like, stand between head and code (dtensor.c).
 */
#ifndef CORE_PEERS_TORCH_CODE_TEXT_H
#define CORE_PEERS_TORCH_CODE_TEXT_H

extern const char dtensor_head_text[]; /* goes on with the comment that the file opens with */
extern const char dtensor_mesh_text[];
extern const char dtensor_tensors_text[]; /* parameters and inputs on the mesh */
extern const char dtensor_style_text[];   /* how modules are placed */
extern const char dtensor_plan_text[];    /* up to where parallelize_plan() has its plan */

#endif
