/* report.h - the reports of torch's strategies for `rule`. */
#ifndef CORE_PEERS_TORCH_REPORT_H
#define CORE_PEERS_TORCH_REPORT_H

#include "core/prove/rule_report.h"

extern const RuleReport torch_reports[];

#endif
