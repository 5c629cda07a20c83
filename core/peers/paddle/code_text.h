/* code_text.h - the text of an exported Paddle module that is the same for every plan. */
#ifndef CORE_PEERS_PADDLE_CODE_TEXT_H
#define CORE_PEERS_PADDLE_CODE_TEXT_H

extern const char paddle_head_text[]; /* before the mesh */
extern const char paddle_tail_text[]; /* the functions that use the tables */

extern const char paddle_step_text[]; /* those that use the tables of a training step */

#endif
