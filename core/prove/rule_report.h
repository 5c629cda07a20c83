/* rule_report.h - what another system has for one operator: shown by `rule`, proven by its --check.
 */
#ifndef CORE_PROVE_RULE_REPORT_H
#define CORE_PROVE_RULE_REPORT_H

#include "core/prove/simulated.h"
#include "core/rules/rule_query.h"
#include "core/rules/system_call.h"

/* Some of a system's rules. */
typedef struct {
    const void *rule;  /* the system's own */
    const char *names; /* of operators, with blanks between */
} NamedRules;

typedef struct RuleReport {
    const char *option; /* that asks for it: "trace" */
    const char *kind;   /* "rule": what --check calls it */
    SystemId system;    /* whose calls it is proven on */
    /* The answer into query->out, or query->json_root with query->json. */
    bool (*show)(RuleQuery *query);
    /* What query->name names. */
    bool (*find)(RuleQuery *query, NamedRules *out);
    /* The i-th built-in, or registered, ones; false: past the last. */
    bool (*built_in)(RuleQuery *query, int i, NamedRules *out);
    bool (*registered)(RuleQuery *query, int i, NamedRules *out);
    bool (*prove)(RuleQuery *query, const NamedRules *rules, const SystemCall *call,
                  RuleProof *out);
} RuleReport;

/* The report that an option asks for; NULL with ERROR_USAGE: nobody who has it is built in. */
const RuleReport *rule_report_find(const char *option, Error *err);
const RuleReport *rule_report_at(int i); /* NULL past the last */

#endif
