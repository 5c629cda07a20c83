/* code_text.h - the Python text of an exported DTensor or veScale module that is the same for every
 * plan.
 *
 * The tables that it uses, PARAMETERS and others, are between head and code (code.c).
 */
#ifndef CORE_PEERS_TORCH_CODE_TEXT_H
#define CORE_PEERS_TORCH_CODE_TEXT_H

extern const char dtensor_head_text[]; /* continues the comment at the start of the file */
extern const char vescale_head_text[];
extern const char dtensor_mesh_text[];
extern const char dtensor_swapped_text[], vescale_swapped_text[];
extern const char dtensor_names_text[];      /* tables by names of parameters */
extern const char dtensor_parameters_text[]; /* parameters on the mesh */
extern const char dtensor_inputs_text[];
extern const char vescale_plan_text[];  /* behind FORWARD */
extern const char dtensor_style_text[]; /* how modules are placed */
extern const char dtensor_plan_text[];  /* up to the plan in parallelize_plan() */

#endif
