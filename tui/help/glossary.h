/* glossary.h - words of nnScaler, Paddle, PyTorch, veScale, Shardy, JAX, Tapestry and parallel
 * training: what each means there, what dimscope calls it, and a command that shows it.
 *
 * One table for `dimscope help WORD`, :help WORD, the palette and dimscope-glossary(7).
 * tests/docs/help.py runs every command and looks for the text it should print.
 */
#ifndef TUI_HELP_GLOSSARY_H
#define TUI_HELP_GLOSSARY_H

#include "core/base/str.h"

typedef struct {
    const char *words;   /* its names, '|' between; the first is the title */
    const char *of;      /* the systems that use the word */
    const char *what;    /* what it means there; the index shows the first sentence */
    const char *here;    /* what dimscope calls it and does with it */
    const char *command; /* a command that shows it; run in a folder with samples/ */
    const char *prints;  /* a part of what the command prints */
    const char *screen;  /* where the explorer shows it */
} GlossaryTerm;

/* The i-th term of the glossary; NULL after the last one. */
const GlossaryTerm *glossary_at(int i);

Str glossary_title(const GlossaryTerm *term);

/* The term of that name, or NULL. Capitals, blanks, '-', '_' and arguments in brackets are ignored:
 * "Shard(0)" finds "shard". */
const GlossaryTerm *glossary_find(Str word);

void glossary_write(const GlossaryTerm *term, Buf *out);
void glossary_index(Buf *out); /* every title, and its first sentence */

/* Appends up to four similar names as "did you mean A, B?"; nothing if none is similar. */
void glossary_near(Str word, Buf *out);

/* The titles that are single words, for completion: "dimop identifier .. ". */
void glossary_words(Buf *out);

/* ---- parts of the table; the last one of each has no words ---- */

extern const GlossaryTerm glossary_ops[];       /* how an op can be partitioned */
extern const GlossaryTerm glossary_shardings[]; /* how a tensor lies on a mesh */
extern const GlossaryTerm glossary_plans[];     /* how plans are made, and what they are called */

#endif
