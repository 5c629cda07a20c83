#include "core/prove/rule_report.h"

#include "core/base/peer.h"

const RuleReport *rule_report_at(int i)
{
    for (const Peer *const *peer = built_peers; *peer; peer++)
        for (const RuleReport *it = (*peer)->reports; it && it->option; it++)
            if (i-- == 0)
                return it;
    return NULL;
}

const RuleReport *rule_report_find(const char *option, Error *err)
{
    const RuleReport *found;
    for (int i = 0; (found = rule_report_at(i)); i++)
        if (strcmp(found->option, option) == 0)
            return found;
    error_kind(err, ERROR_USAGE, "--%s of 'rule' needs a system that is not built in", option);
    return NULL;
}
