/* template_call.h - the op space of one call of an operator, with the shipped templates loaded. */
#ifndef TESTS_UNIT_TEMPLATE_CALL_H
#define TESTS_UNIT_TEMPLATE_CALL_H

#include "tests/unit/unit.h"

#include "core/rules/example.h"
#include "core/rules/infer.h"
#include "scripts/hooks.h"

typedef struct {
    const char *op_type, *operands, *attrs;
    int n_outputs;
} Call;

typedef struct {
    Arena *arena;
    Scripts *scripts;
    RuleBook rules;
} Fixture;

static inline Fixture fixture_new(void)
{
    Fixture fixture = {.arena = arena_new()};
    Error err = {0};
    fixture.scripts = scripts_new(fixture.arena, ".");
    fixture.rules = rule_book_new(fixture.arena);
    SessionHooks hooks = scripts_hooks(fixture.scripts);
    if (!hooks.prepare(hooks.context, NULL, NULL, &fixture.rules, &err))
        fail_msg("%s", err.text);
    return fixture;
}

static inline void fixture_free(Fixture *fixture)
{
    scripts_free(fixture->scripts);
    arena_free(fixture->arena);
}

static inline const OpSpace *space_of(Fixture *fixture, const Call *call)
{
    const Example example = {call->operands, call->attrs ? call->attrs : "", call->n_outputs};
    Error err = {0};
    const DimBindings none = {0};
    Graph *graph = example_op(fixture->arena, call->op_type, &example, &err);
    const Inferred *inferred =
        graph ? infer(fixture->arena, graph, fixture->rules.registry, &none, false, &err) : NULL;
    if (!inferred)
        fail_msg("%s: %s", call->op_type, err.text);
    const OpSpace *space = inferred_space(inferred, 0);
    if (!space || space->no_rule)
        fail_msg("%s: %s", call->op_type,
                 inferred->findings.n > 0 ? inferred->findings.at[0].text : "no op space");
    return space;
}

#endif
