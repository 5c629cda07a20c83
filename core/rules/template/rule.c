#include "core/rules/template/template.h"

bool template_rule(const Template *template, RuleCall *call, Error *err)
{
    (void)template;
    (void)call;
    return error_set(err, "templates cannot be applied");
}
