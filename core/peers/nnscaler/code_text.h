/* code_text.h - what every policy for nnScaler has, whatever the plan: Python.
 *
 * The tables that it works on, CUTS and the like, stand behind the head (nnscaler.c).
 */
#ifndef CORE_PEERS_NNSCALER_CODE_TEXT_H
#define CORE_PEERS_NNSCALER_CODE_TEXT_H

extern const char nnscaler_head_text[]; /* goes on with the comment that the file opens with */
extern const char nnscaler_layouts_text[];
extern const char nnscaler_policy_text[];

#endif
