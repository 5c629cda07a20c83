#include "tui/state/format.h"

#include "core/base/units.h"
#include "core/summary/label.h"

Str label_sharding(const Ui *ui, int32_t sharding)
{
    Buf text = buf_new(ui->frame);

    sharding_format(shardings_at(ui_plan(ui)->shardings, sharding), ui->session->mesh,
                    ui->look.ascii ? VIEW_OURS_ASCII : VIEW_OURS, &text, NULL);
    return buf_str(&text);
}

Str label_value(const Ui *ui, int32_t tensor, int32_t sharding)
{
    Buf text = buf_new(ui->frame);

    if (sharding >= 0)
        return label_sharding(ui, sharding);
    if (tensor >= 0)
        label_put_shape(ui->session->inferred, tensor, &text);
    return buf_str(&text);
}

Str label_bytes(const Ui *ui, int64_t bytes)
{
    Buf text = buf_new(ui->frame);
    units_format_bytes(bytes, &text);
    return buf_str(&text);
}

Str label_us(const Ui *ui, double us)
{
    Buf text = buf_new(ui->frame);
    units_format_us(us, &text);
    return buf_str(&text);
}
