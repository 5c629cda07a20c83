/* code_text.h - the Python text of an exported nnScaler policy that is the same for every plan.
 *
 * The tables that it uses, CUTS and others, follow the head (code.c).
 */
#ifndef CORE_PEERS_NNSCALER_CODE_TEXT_H
#define CORE_PEERS_NNSCALER_CODE_TEXT_H

extern const char nnscaler_head_text[]; /* continues the comment at the start of the file */
extern const char nnscaler_layouts_text[];
extern const char nnscaler_policy_text[];
extern const char nnscaler_step_text[]; /* of a training step */

#endif
