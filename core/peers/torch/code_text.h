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

/* Of plans in torch's own styles. */
extern const char torch_placed_text[];  /* the style of what torch has none for */
extern const char torch_experts_text[]; /* the styles of stacked experts, and what they share */
extern const char torch_shared_experts_text[], torch_dispatched_experts_text[];
extern const char torch_checked_text[]; /* a plan whose modules are all there */
extern const char torch_present_text[]; /* likewise, of a stage */
extern const char torch_stage_text[];   /* a model's part, up to how it is called */
extern const char torch_stage_ids_text[], torch_stage_plain_text[];
extern const char torch_pipeline_text[], torch_stages_text[]; /* up to the axis; in its loop */

#endif
