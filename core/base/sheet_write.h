/* sheet_write.h - a sheet as csv, json or md.
 *
 * csv is RFC 4180: texts with commas, quotes or line ends are quoted, bytes stay as they are. json
 * is one object, {"schema":"dimscope.sheet","version":1,"view":..,"columns":[..],"rows":[{..}]};
 * broken UTF-8 is made printable, a number that is not finite becomes null. md is a table: a line
 * end becomes <br>, control bytes \xNN, and nothing in a cell is read as markup.
 */
#ifndef CORE_BASE_SHEET_WRITE_H
#define CORE_BASE_SHEET_WRITE_H

#include "core/base/sheet.h"

enum { SHEET_VERSION = 1 };

void sheet_write_csv(const Sheet *sheet, Buf *out);
void sheet_write_json(const Sheet *sheet, const char *view, Buf *out);
void sheet_write_json_rows(const Sheet *sheet, Buf *out); /* its "columns" and "rows" alone */
void sheet_write_md(const Sheet *sheet, Buf *out);

#endif
