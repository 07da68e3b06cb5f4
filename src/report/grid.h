#ifndef TC_REPORT_GRID_H
#define TC_REPORT_GRID_H
/**
 * @file grid.h
 * A table of texts, printed in columns of plain text.  Private to this room.
 *
 * Flow:  tc_grid_create() -> tc_grid_cell() … row by row -> tc_grid_print() -> tc_grid_free()
 * A failed allocation is remembered and returned by tc_grid_print().
 */
#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct tc_grid tc_grid;

/** @param align  One letter a column: 'l' or 'r'.  Borrowed.  NULL result: no memory. */
tc_grid *tc_grid_create(const char *align);
void tc_grid_free(tc_grid *grid); /* NULL accepted */

/** Add the next cell; the first row is the heading.  NULL grid accepted. */
void tc_grid_cell(tc_grid *grid, const char *fmt, ...) TC_PRINTF(2, 3);
/** Add a number with @p decimals, or `-` for NAN. */
void tc_grid_number(tc_grid *grid, double value, int decimals);
/** The same times 100. */
void tc_grid_percent(tc_grid *grid, double value, int decimals);

/** @retval TC_NOMEM  a cell is missing.   @retval TC_IO  the stream refused. */
tc_status tc_grid_print(const tc_grid *grid, FILE *out);

#endif
