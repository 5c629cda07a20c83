#include "tui/state/format.h"

#include "core/base/units.h"
#include "core/summary/label.h"

void label_put_sharding(const Ui *ui, int32_t sharding, Buf *out)
{
    sharding_format(shardings_at(ui_plan(ui)->shardings, sharding), ui->session->mesh,
                    ui->look.ascii ? VIEW_OURS_ASCII : VIEW_OURS, out, NULL);
}

void label_put_value(const Ui *ui, int32_t tensor, int32_t sharding, Buf *out)
{
    if (sharding >= 0)
        label_put_list(ui->session->inferred, tensor, out);
    if (sharding >= 0)
        label_put_sharding(ui, sharding, out);
    else if (tensor >= 0)
        label_put_shape(ui->session->inferred, tensor, out);
}

Text label_sharding(const Ui *ui, int32_t sharding)
{
    return label_value(ui, -1, sharding);
}

Text label_value(const Ui *ui, int32_t tensor, int32_t sharding)
{
    Buf text = buf_marked(ui->frame);

    label_put_value(ui, tensor, sharding, &text);
    return buf_text(&text);
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
