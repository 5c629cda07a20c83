/* report.h - the reports of Paddle's rules for `rule`. */
#ifndef CORE_PEERS_PADDLE_REPORT_H
#define CORE_PEERS_PADDLE_REPORT_H

#include "core/prove/rule_report.h"

extern const RuleReport paddle_reports[];

#endif
