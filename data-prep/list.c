#include <config.h>

#include "data-prep/list.h"

#include "base/log.h"
#include "shard/durable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FAULTS (TC_FAULT_DAMAGED + 1)

struct tc_list {
    char path[4096 + 16], tmp[4096 + 16];
    FILE *file; /* from the first line on */
    uint64_t lines, rejected;
    uint64_t faults[FAULTS], notes[TC_NOTES], outcomes[TC_OUTCOMES];
};

tc_status tc_list_create(const char *folder, tc_list **list_p)
{
    tc_list *list = NULL;

    tc_status status = tc_alloc(1, sizeof *list, "list", &list);
    if (status != TC_OK)
        return status;
    if (snprintf(list->path, sizeof list->path, "%s/create.tsv", folder) >=
        (int)sizeof list->path - 4) {
        tc_free(list);
        return tc_fail(TC_INVAL, "%.100s…: the path is too long", folder);
    }
    snprintf(list->tmp, sizeof list->tmp, "%.4107s.tmp", list->path);
    *list_p = list;
    return TC_OK;
}

void tc_list_destroy(tc_list *list)
{
    if (list == NULL)
        return;
    if (list->file != NULL) { /* of a run that failed */
        fclose(list->file);
        unlink(list->tmp);
    }
    tc_free(list);
}

static tc_status start(tc_list *list)
{
    list->file = fopen(list->tmp, "we");
    if (list->file == NULL)
        return tc_fail(TC_IO, "%s: cannot create: %s", list->tmp, strerror(errno));
    fputs("source\tmember\toutcome\twhat\tdetail\n", list->file);
    return TC_OK;
}

/* A field: what would break the lines is shown as "?". */
static void put(tc_list *list, const char *text, char end)
{
    for (; *text != '\0'; text++)
        putc((unsigned char)*text < 0x20 ? '?' : *text, list->file);
    putc(end, list->file);
}

static tc_status add(tc_list *list, const char *const fields[5])
{
    tc_status status = list->file == NULL ? start(list) : TC_OK;

    if (status != TC_OK)
        return status;
    for (int i = 0; i < 5; i++)
        put(list, fields[i], i < 4 ? '\t' : '\n');
    list->lines++;
    if (ferror(list->file))
        return tc_fail(TC_IO, "%s: cannot write: %s", list->tmp, strerror(errno));
    return TC_OK;
}

tc_status tc_list_reject(tc_list *list, const char *source, const char *member, tc_fault fault,
                         const char *why)
{
    list->rejected++;
    list->faults[fault]++;
    return add(list, (const char *[]){ source, member, "rejected", tc_fault_word(fault), why });
}

tc_status tc_list_note(tc_list *list, const char *source, const char *member,
                       const tc_recoded *result)
{
    char what[256] = "";
    size_t length = 0;

    list->outcomes[result->outcome]++;
    for (int n = 0; n < TC_NOTES; n++) {
        if ((result->notes >> n & 1) == 0)
            continue;
        list->notes[n]++;
        length += (size_t)snprintf(what + length, sizeof what - length, "%s%s",
                                   length > 0 ? "," : "", tc_note_word((tc_note)n));
    }
    if (result->notes == 0)
        return TC_OK;
    return add(list, (const char *[]){ source, member, tc_outcome_word(result->outcome), what,
                                       result->detail });
}

tc_status tc_list_finish(tc_list *list)
{
    if (list->file == NULL)
        return TC_OK;
    tc_status status = tc_durable_sync(list->file, list->tmp);
    fclose(list->file); /* synced */
    list->file = NULL;
    if (status == TC_OK)
        status = tc_durable_rename(list->tmp, list->path);
    if (status != TC_OK)
        unlink(list->tmp);
    return status;
}

uint64_t tc_list_rejected(const tc_list *list)
{
    return list->rejected;
}

uint64_t tc_list_outcome(const tc_list *list, tc_outcome outcome)
{
    return list->outcomes[outcome];
}

/* Append ", 3 truncated" where there are some. */
static size_t count(char *text, size_t size, size_t length, uint64_t n, const char *word)
{
    if (n == 0 || length >= size)
        return length;
    return length + (size_t)snprintf(text + length, size - length, "%s%" PRIu64 " %s",
                                     length > 0 ? ", " : "", n, word);
}

void tc_list_log(const tc_list *list)
{
    char faults[512] = "", notes[512] = "";
    size_t length = 0;

    for (int f = 0; f < FAULTS; f++)
        length = count(faults, sizeof faults, length, list->faults[f], tc_fault_word((tc_fault)f));
    length = 0;
    for (int n = 0; n < TC_NOTES; n++)
        length = count(notes, sizeof notes, length, list->notes[n], tc_note_word((tc_note)n));
    if (list->rejected > 0)
        tc_log(TC_LOG_WARN, "pack", "%" PRIu64 " left out: %s; see %s", list->rejected, faults,
               list->path);
    if (list->notes[TC_NOTE_SALVAGED] > 0)
        tc_log(TC_LOG_WARN, "pack", "%" PRIu64 " damaged pictures kept in part; see %s",
               list->notes[TC_NOTE_SALVAGED], list->path);
    if (notes[0] != '\0')
        tc_log(TC_LOG_INFO, "pack", "among the pictures: %s; see %s", notes, list->path);
}
