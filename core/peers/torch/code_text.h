/* code_text.h - the Python text of an exported DTensor or veScale module that is the same for every
 * plan.
 *
 * The tables that it uses, PARAMETERS and others, are between head and code (code.c).
 */
#ifndef CORE_PEERS_TORCH_CODE_TEXT_H
#define CORE_PEERS_TORCH_CODE_TEXT_H

#include "core/base/str.h"

extern const char dtensor_head_text[]; /* continues the comment at the start of the file */
extern const char vescale_head_text[];
extern const char dtensor_mesh_text[];
extern const char dtensor_swapped_text[], vescale_swapped_text[];
extern const char dtensor_names_text[];      /* tables by names of parameters */
extern const char dtensor_parameters_text[]; /* parameters on the mesh */
extern const char dtensor_inputs_text[];
extern const char vescale_plan_text[];  /* after FORWARD */
extern const char dtensor_style_text[]; /* how modules are placed */
extern const char dtensor_plan_text[];  /* up to the plan in parallelize_plan() */

/* For plans in torch's own styles. */
enum { TORCH_COLUMNS = 100 }; /* of a line */
/* The imports of the names that the rest of the module uses; schedule: a class of torch's
 * pipelining, or NULL. */
void torch_write_imports(Str body, const char *schedule, Buf *out);
extern const char torch_placed_text[];       /* the style for what torch has no style for */
extern const char torch_placed_local_text[]; /* the same where all modules pass plain tensors */
extern const char torch_attention_text[];    /* the style for nn.MultiheadAttention */
extern const char torch_heads_text[];        /* the style for a bias of all heads */
extern const char torch_columns_text[];      /* the style for columns that all heads read */
extern const char torch_parts_text[];        /* the style for stacked experts that are sharded
                                                inside */
extern const char torch_experts_text[];      /* the styles for whole experts, and what they share */
extern const char torch_shared_experts_text[], torch_dispatched_experts_text[];
extern const char torch_present_text[]; /* the plan restricted to the modules of a stage */
extern const char torch_stage_text[];   /* a part of the model, up to its call */
extern const char torch_stage_ids_text[], torch_stage_plain_text[];
extern const char torch_pipeline_text[], torch_stages_text[]; /* up to the axis; inside its loop */

/* "Style(a, b)" as the value of a key: its arguments are on a line of their own if it is too long
 * for one line, each on one if they still are. Text in the arena. */
const char *torch_folded_style(Arena *arena, Str key, const char *style);

#endif
