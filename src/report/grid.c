#include <config.h>

#include "report/grid.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 2 /* spaces before every column */

struct tc_grid {
    const char *align;
    size_t columns, n, capacity;
    char **cell; /* (rows,columns) */
    bool broken; /* a cell could not be kept */
};

tc_grid *tc_grid_create(const char *align)
{
    tc_grid *grid = calloc(1, sizeof *grid);

    if (grid) {
        grid->align = align;
        grid->columns = strlen(align);
    }
    return grid;
}

void tc_grid_free(tc_grid *grid)
{
    if (!grid)
        return;
    for (size_t i = 0; i < grid->n; i++)
        free(grid->cell[i]);
    free(grid->cell);
    free(grid);
}

void tc_grid_cell(tc_grid *grid, const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;

    if (!grid)
        return;
    if (grid->n == grid->capacity) {
        size_t capacity = 2 * grid->capacity + 64;
        char **more = realloc(grid->cell, capacity * sizeof *more);
        if (!more) {
            grid->broken = true;
            return;
        }
        grid->cell = more;
        grid->capacity = capacity;
    }
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    if (text)
        grid->cell[grid->n++] = text;
    else
        grid->broken = true;
}

void tc_grid_number(tc_grid *grid, double value, int decimals)
{
    if (isnan(value))
        tc_grid_cell(grid, "-");
    else
        tc_grid_cell(grid, "%.*f", decimals, value);
}

void tc_grid_percent(tc_grid *grid, double value, int decimals)
{
    tc_grid_number(grid, 100.0 * value, decimals);
}

/* Columns on a terminal: bytes that do not go on with a UTF-8 character. */
static size_t width_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static size_t column_width(const tc_grid *grid, size_t column)
{
    size_t width = 0;

    for (size_t i = column; i < grid->n; i += grid->columns) {
        size_t w = width_of(grid->cell[i]);
        width = w > width ? w : width;
    }
    return width;
}

tc_status tc_grid_print(const tc_grid *grid, FILE *out)
{
    if (!grid || grid->broken)
        return tc_fail(TC_NOMEM, "no memory for a table");
    for (size_t i = 0; i < grid->n; i++) {
        size_t column = i % grid->columns, width = column_width(grid, column);
        size_t pad = width - width_of(grid->cell[i]);
        bool right = grid->align[column] == 'r';
        bool last = column == grid->columns - 1 || i == grid->n - 1;
        fprintf(out, "%*s%s", (int)(MARGIN + (right ? pad : 0)), "", grid->cell[i]);
        if (last)
            fputc('\n', out);
        else if (!right)
            fprintf(out, "%*s", (int)pad, "");
    }
    return ferror(out) ? tc_fail(TC_IO, "cannot write the report") : TC_OK;
}
