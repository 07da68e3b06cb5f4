#include <config.h>

#include "allreduce/cache.h"

#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] = "# tricolor choices 1: what `auto' chose; without its line, a choice is "
                           "measured anew\n";

enum { LINE_SIZE = 1024 };

static tc_status broken(const char *path, int line)
{
    return tc_fail(TC_FORMAT,
                   "%s: line %d is not a choice of allreduce `auto': remove the line, or name "
                   "another file",
                   path, line);
}

static bool has_key(const char *line, const char *key)
{
    size_t length = strlen(key);

    return strncmp(line, key, length) == 0 && line[length] == ' ';
}

/* The next line, checked; "" at the end. */
static tc_status next_line(FILE *file, const char *path, int number, char *line)
{
    line[0] = '\0';
    if (fgets(line, LINE_SIZE, file) == NULL)
        return ferror(file) ? tc_fail(TC_IO, "%s: cannot be read: %s", path, strerror(errno))
                            : TC_OK;
    size_t length = strlen(line);
    if (line[length - (length > 0)] != '\n')
        return broken(path, number);
    if (number == 1)
        return strcmp(line, head) == 0 ? TC_OK : broken(path, number);
    const char *choice = strstr(line, " choice=");
    if (strncmp(line, "tricolor=", 9) != 0 || choice == NULL || choice[8] == '\n')
        return broken(path, number);
    return TC_OK;
}

tc_status tc_cache_find(const char *path, const char *key, char *choice, size_t size)
{
    char line[LINE_SIZE] = "x";
    FILE *file = fopen(path, "re");
    tc_status status = TC_OK;

    choice[0] = '\0';
    if (file == NULL && errno == ENOENT)
        return TC_OK;
    if (file == NULL)
        return tc_fail(TC_IO, "%s: cannot be read: %s", path, strerror(errno));
    for (int number = 1; status == TC_OK && line[0] != '\0'; number++) {
        status = next_line(file, path, number, line);
        if (status != TC_OK || !has_key(line, key))
            continue;
        const char *text = strstr(line, " choice=") + 8;
        size_t length = strcspn(text, "\n");
        if (length >= size)
            status = broken(path, number);
        else
            snprintf(choice, size, "%.*s", (int)length, text);
    }
    fclose(file);
    return status;
}

tc_status tc_cache_prepare(const char *path)
{
    FILE *file = fopen(path, "ae");

    if (file == NULL)
        return tc_fail(TC_IO, "%s: cannot be written: %s", path, strerror(errno));
    fclose(file);
    return TC_OK;
}

/* What is there of others' lines. */
static tc_status read_others(const char *path, const char *key, tc_buffer *text)
{
    char line[LINE_SIZE] = "x";
    FILE *file = fopen(path, "re");
    tc_status status = tc_buffer_append(text, head, sizeof head - 1);

    if (file == NULL)
        return status;
    for (int number = 1; status == TC_OK && line[0] != '\0'; number++) {
        status = next_line(file, path, number, line);
        if (status == TC_OK && number > 1 && !has_key(line, key))
            status = tc_buffer_append(text, line, strlen(line));
    }
    fclose(file);
    return status;
}

tc_status tc_cache_add(const char *path, const char *key, double seconds, const char *choice)
{
    char line[LINE_SIZE], temporary[4096];
    tc_buffer text = { 0 };
    tc_status status = read_others(path, key, &text);

    snprintf(line, sizeof line, "%s us=%.1f choice=%s\n", key, seconds * 1e6, choice);
    if (status == TC_OK)
        status = tc_buffer_append(&text, line, strlen(line));
    if (status == TC_OK && snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >=
                               (int)sizeof temporary)
        status = tc_fail(TC_IO, "%.80s…: the name is too long", path);
    if (status == TC_OK) {
        FILE *file = fopen(temporary, "we");
        bool good = file != NULL && fwrite(text.data, 1, text.bytes, file) == text.bytes;
        if (file != NULL)
            good = fclose(file) == 0 && good;
        if (!good || rename(temporary, path) != 0) {
            status = tc_fail(TC_IO, "%s: cannot be written: %s", path, strerror(errno));
            remove(temporary);
        }
    }
    tc_buffer_free(&text);
    return status;
}
