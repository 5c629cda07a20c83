/* rule_report.h - another system's rules for one operator: printed by `rule`, checked by its
 * --check.
 */
#ifndef CORE_PROVE_RULE_REPORT_H
#define CORE_PROVE_RULE_REPORT_H

#include "core/prove/simulated.h"
#include "core/rules/rule_query.h"
#include "core/rules/system_call.h"

/* Rules of a system under a name. */
typedef struct {
    const void *rule;  /* in the system's own form */
    const char *names; /* names of operators, separated by blanks */
} NamedRules;

typedef struct RuleReport {
    const char *option; /* the option of `rule` that selects it: "trace" */
    const char *kind;   /* "rule": its name in the output of --check */
    SystemId system;    /* the system whose calls it is proven on */
    /* Writes the answer to query->out, or with query->json to query->json_root. */
    bool (*show)(RuleQuery *query);
    /* Finds the rules named by query->name. */
    bool (*find)(RuleQuery *query, NamedRules *out);
    /* The i-th built-in, or registered, rules; returns false past the last. */
    bool (*built_in)(RuleQuery *query, int i, NamedRules *out);
    bool (*registered)(RuleQuery *query, int i, NamedRules *out);
    bool (*prove)(RuleQuery *query, const NamedRules *rules, const SystemCall *call,
                  RuleProof *out);
} RuleReport;

/* The report that an option selects; NULL with ERROR_USAGE if no system with it is built in. */
const RuleReport *rule_report_find(const char *option, Error *err);
const RuleReport *rule_report_at(int i); /* returns NULL past the last */

#endif
