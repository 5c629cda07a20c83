/* grammar.h - programs of a grammar: each byte of an input chooses how a rule goes on; where the
 * bytes end a rule has its first form, which is without others. In a form, `$X` stands for the rule
 * X.
 */
#ifndef TESTS_FUZZ_GRAMMAR_H
#define TESTS_FUZZ_GRAMMAR_H

#include "core/base/str.h"

enum { GRAMMAR_DEPTH_MAX = 12, GRAMMAR_TEXT_MAX = 6000 };

typedef struct {
    char name;
    const char *const *forms;
    int n;
} GrammarRule;

typedef struct {
    const GrammarRule *rules;
    const uint8_t *at;
    size_t n;
    int depth;
    Buf text;
} Grammar;

#define GRAMMAR_RULE(name, forms)                                                                  \
    {                                                                                              \
        name, forms, (int)(sizeof(forms) / sizeof *(forms))                                        \
    }

static inline int grammar_choose(Grammar *g, int n)
{
    if (g->n == 0 || g->depth >= GRAMMAR_DEPTH_MAX || g->text.n > GRAMMAR_TEXT_MAX)
        return 0;
    g->n--;
    return *g->at++ % n;
}

static inline void grammar_put(Grammar *g, const char *form)
{
    g->depth++;
    for (const char *s = form; *s; s++) {
        const GrammarRule *rule = g->rules;
        if (*s != '$') {
            buf_putc(&g->text, *s);
            continue;
        }
        for (s++; rule->name != *s;)
            rule++;
        grammar_put(g, rule->forms[grammar_choose(g, rule->n)]);
    }
    g->depth--;
}

/* Lines of the rule until the input is used up. */
static inline void grammar_put_all(Grammar *g, char name)
{
    const char form[] = {'$', name, '\n', '\0'};
    while (g->n > 0 && g->text.n < GRAMMAR_TEXT_MAX)
        grammar_put(g, form);
}

#endif
