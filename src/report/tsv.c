#include <config.h>

#include "report/tsv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (1 << 20)

static tc_status slurp(const char *path, char **text_p)
{
    FILE *file = fopen(path, "r");
    char *text;

    if (!file)
        return tc_fail(TC_IO, "%s: cannot read the published figures: %s", path, strerror(errno));
    text = malloc(MAX_BYTES);
    size_t bytes = text ? fread(text, 1, MAX_BYTES - 1, file) : 0;
    int failed = ferror(file);
    fclose(file);
    if (!text)
        return tc_fail(TC_NOMEM, "%s: no memory to read it", path);
    if (failed || bytes == MAX_BYTES - 1) {
        free(text);
        return failed ? tc_fail(TC_IO, "%s: cannot read", path)
                      : tc_fail(TC_FORMAT, "%s: larger than 1 MiB", path);
    }
    text[bytes] = '\0';
    *text_p = text;
    return TC_OK;
}

/* Cut one line at its tabs; cells beyond `want` are counted but not kept. */
static size_t cut(char *line, const char **cell, size_t want)
{
    size_t n = 0;

    for (;;) {
        if (n < want)
            cell[n] = line;
        n++;
        line = strchr(line, '\t');
        if (!line)
            return n;
        *line++ = '\0';
    }
}

static size_t count_char(const char *text, char c)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == c;
    return n;
}

/* Fill the cells; every line has as many as the first. */
static tc_status parse(const char *path, tc_tsv *tsv)
{
    size_t number = 0, lines = 0;
    char *next;

    for (char *line = tsv->text; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = '\0';
        number++;
        if (*line == '#' || *line == '\0')
            continue;
        if (lines == 0)
            tsv->columns = count_char(line, '\t') + 1;
        const char **row = realloc(tsv->cell, (lines + 1) * tsv->columns * sizeof *row);
        if (!row)
            return tc_fail(TC_NOMEM, "%s: no memory for its cells", path);
        tsv->cell = row;
        size_t n = cut(line, row + lines * tsv->columns, tsv->columns);
        if (n != tsv->columns)
            return tc_fail(TC_FORMAT, "%s:%zu: %zu cells, but the heading names %zu columns", path,
                           number, n, tsv->columns);
        lines++;
    }
    if (lines == 0)
        return tc_fail(TC_FORMAT, "%s: no heading", path);
    tsv->rows = lines - 1;
    return TC_OK;
}

tc_status tc_tsv_read(const char *dir, const char *name, tc_tsv *tsv_p)
{
    char path[4096];
    tc_tsv tsv = { 0 };

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return tc_fail(TC_INVAL, "the name of the folder of published figures is too long");
    tc_status status = slurp(path, &tsv.text);
    if (status == TC_OK)
        status = parse(path, &tsv);
    if (status == TC_OK)
        *tsv_p = tsv;
    else
        tc_tsv_free(&tsv);
    return status;
}

void tc_tsv_free(tc_tsv *tsv)
{
    free(tsv->cell);
    free(tsv->text);
    *tsv = (tc_tsv){ 0 };
}

const char *tc_tsv_get(const tc_tsv *tsv, size_t row, const char *column)
{
    for (size_t i = 0; i < tsv->columns; i++)
        if (strcmp(tsv->cell[i], column) == 0)
            return tsv->cell[(row + 1) * tsv->columns + i];
    return "";
}
