#ifndef TC_REPORT_TSV_H
#define TC_REPORT_TSV_H
/**
 * @file tsv.h
 * A small file of tab-separated values: lines of `#` are comments, the first other line names the
 * columns.  Private to this room.
 *
 * Flow:  tc_tsv_read() -> tc_tsv_get() … -> tc_tsv_free()
 */
#include "base/status.h"

#include <stddef.h>

typedef struct {
    char *text;        /* the file; the cells point into it */
    const char **cell; /* (1 + rows,columns); row 0 has the names */
    size_t rows, columns;
} tc_tsv;

/**
 * Read DIR/NAME.
 * @retval TC_IO      cannot be read.
 * @retval TC_FORMAT  a line (named) has not as many cells as the first.   @retval TC_NOMEM
 */
tc_status tc_tsv_read(const char *dir, const char *name, tc_tsv *tsv_p);
void tc_tsv_free(tc_tsv *tsv); /* a zeroed one is accepted */

/** Cell of @p row (from 0) in the column called @p column; "" where there is no such column. */
const char *tc_tsv_get(const tc_tsv *tsv, size_t row, const char *column);

#endif
