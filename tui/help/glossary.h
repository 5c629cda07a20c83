/* glossary.h - words of nnScaler, Paddle, PyTorch, veScale, Shardy, JAX, Tapestry and of parallel
 * training: what each means there, what dimscope calls it, and a command that shows it.
 *
 * One table; `dimscope help WORD`, :help WORD, the palette and dimscope-glossary(7) read it.
 * tests/docs/help.py runs every command and looks for what it prints.
 */
#ifndef TUI_HELP_GLOSSARY_H
#define TUI_HELP_GLOSSARY_H

#include "core/base/str.h"

typedef struct {
    const char *words;   /* its names, '|' between; the first is the title */
    const char *of;      /* the systems that use the word */
    const char *what;    /* what it means there; the first sentence stands in the index */
    const char *here;    /* what dimscope calls it, and does with it */
    const char *command; /* shows it; run in a folder with samples/ */
    const char *prints;  /* a part of what the command prints */
    const char *screen;  /* where the explorer shows it */
} GlossaryTerm;

/* The term at that place of the glossary, NULL behind the last one. */
const GlossaryTerm *glossary_at(int i);

Str glossary_title(const GlossaryTerm *term);

/* The term of that name, or NULL. Capitals, blanks, '-', '_' and arguments in brackets do not
 * count: "Shard(0)" is "shard". */
const GlossaryTerm *glossary_find(Str word);

void glossary_write(const GlossaryTerm *term, Buf *out);
void glossary_index(Buf *out); /* every title, and its first sentence */

/* Up to four names that are like the word, as "did you mean A, B?"; nothing if none is. */
void glossary_near(Str word, Buf *out);

/* "dimop identifier .. ", the titles of one word, for completion. */
void glossary_words(Buf *out);

/* ---- parts of the table; the last one of each has no words ---- */

extern const GlossaryTerm glossary_ops[];       /* how an op can be partitioned */
extern const GlossaryTerm glossary_shardings[]; /* how a tensor lies on a mesh */
extern const GlossaryTerm glossary_plans[];     /* how plans are made, and what they are called */

#endif
