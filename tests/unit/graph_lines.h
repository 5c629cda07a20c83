/* graph_lines.h - small graphs without shapes, a line each, for tests of order and structure.
 *
 *     in NAME        an input            weight NAME    an initializer
 *     out NAME       an output           [@PATH] [NAME:]OPERATOR A B -> C D    an op
 *
 * An absent operand is '_'. Lines are written in any order; nothing is checked here.
 */
#ifndef TESTS_UNIT_GRAPH_LINES_H
#define TESTS_UNIT_GRAPH_LINES_H

#include "core/model/graph.h"

static inline void read_words(Str text, Str *words, int *n)
{
    *n = 0;
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        while (i < text.n && text.s[i] != ' ')
            i++;
        if (i > from)
            words[(*n)++] = (Str){text.s + from, i - from};
        i++;
    }
}

static inline int32_t operand(GraphBuilder *builder, Str word)
{
    return graph_tensor(builder, str_eq(word, STR("_")) ? STR("") : word);
}

static inline void add_op(GraphBuilder *builder, const Str *words, int n)
{
    int32_t operands[16];
    int n_inputs = 0, n_operands = 0;
    Str path = STR("");
    if (words[0].s[0] == '@') {
        path = (Str){words[0].s + 1, words[0].n - 1};
        words++;
        n--;
    }
    for (int i = 1; i < n; i++)
        if (str_eq(words[i], STR("->")))
            n_inputs = n_operands;
        else
            operands[n_operands++] = operand(builder, words[i]);
    int64_t colon = str_find(words[0], STR(":"));
    Str name = colon < 0 ? STR("") : (Str){words[0].s, (size_t)colon};
    Str kind = {words[0].s + colon + 1, words[0].n - (size_t)(colon + 1)};
    graph_add_op(builder, kind, name, path, operands, n_inputs, operands + n_inputs,
                 n_operands - n_inputs, 0);
}

static inline void add_line(GraphBuilder *builder, Str line)
{
    Str words[16] = {{0}};
    int n;
    read_words(line, words, &n);
    if (n == 0)
        return;
    if (str_eq(words[0], STR("in")))
        graph_add_input(builder, graph_tensor(builder, words[1]), DT_F32, NULL, -1);
    else if (str_eq(words[0], STR("out")))
        graph_add_output(builder, graph_tensor(builder, words[1]));
    else if (str_eq(words[0], STR("weight")))
        graph_add_initializer(builder, graph_tensor(builder, words[1]), DT_F32, &(Shape){0},
                              (TensorData){.form = DATA_ABSENT});
    else
        add_op(builder, words, n);
}

static inline Graph *build_lines(Arena *arena, const char *text, Error *err)
{
    GraphBuilder *builder = graph_builder_new(arena, "made");
    for (Str left = str_from(text); left.n > 0;) {
        int64_t end = str_find(left, STR("\n"));
        size_t n = end < 0 ? left.n : (size_t)end;
        add_line(builder, (Str){left.s, n});
        left = (Str){left.s + n, left.n - n};
        if (left.n > 0)
            left = (Str){left.s + 1, left.n - 1};
    }
    return graph_seal(builder, err);
}

#endif
