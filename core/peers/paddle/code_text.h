/* code_text.h - what of a module for Paddle is the same for every plan. */
#ifndef CORE_PEERS_PADDLE_CODE_TEXT_H
#define CORE_PEERS_PADDLE_CODE_TEXT_H

extern const char paddle_head_text[]; /* up to the mesh */
extern const char paddle_tail_text[]; /* what uses the tables */

#endif
