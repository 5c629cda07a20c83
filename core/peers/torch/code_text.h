/* code_text.h - the Python text of an exported DTensor module that is the same for every plan.
 *
 * The tables that it uses, PARAMETERS and others, are between head and code (code.c).
 */
#ifndef CORE_PEERS_TORCH_CODE_TEXT_H
#define CORE_PEERS_TORCH_CODE_TEXT_H

extern const char dtensor_head_text[]; /* continues the comment at the start of the file */
extern const char dtensor_mesh_text[];
extern const char dtensor_tensors_text[]; /* parameters and inputs on the mesh */
extern const char dtensor_style_text[];   /* how modules are placed */
extern const char dtensor_plan_text[];    /* up to the plan in parallelize_plan() */

#endif
