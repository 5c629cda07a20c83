/* report.h - dims_mapping rules of one operator, for `rule`. */
#ifndef CORE_PEERS_PADDLE_REPORT_H
#define CORE_PEERS_PADDLE_REPORT_H

#include "core/prove/rule_report.h"

extern const RuleReport paddle_reports[];

#endif
