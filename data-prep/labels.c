#include <config.h>

#include "data-prep/labels.h"

#include "data-prep/classes.h"
#include "data-prep/devkit.h"
#include "data-prep/walk.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef struct {
    uint64_t name; /* offset in the names, + 1; 0: empty place */
    int32_t class; /* provisional number */
} place;

struct tc_labels {
    tc_dataset map;
    tc_classes *classes;
    const int32_t *final; /* of a provisional number */
    tc_buffer names;
    place *table; /* open addressing */
    uint64_t size, count;
};

void tc_labels_destroy(tc_labels *labels)
{
    if (labels == NULL)
        return;
    tc_free(labels->map.classes);
    tc_classes_destroy(labels->classes);
    tc_buffer_free(&labels->names);
    tc_free(labels->table);
    tc_free(labels);
}

static tc_status create(const char *path, tc_labels **labels_p)
{
    tc_labels *labels = NULL;

    tc_status status = tc_alloc(1, sizeof *labels, "labels", &labels);
    if (status != TC_OK)
        return status;
    labels->size = 1 << 16;
    snprintf(labels->map.path, sizeof labels->map.path, "%s", path);
    status = tc_alloc((int64_t)labels->size, sizeof *labels->table, "labels", &labels->table);
    if (status == TC_OK)
        status = tc_classes_create(NULL, false, &labels->classes);
    if (status != TC_OK) {
        tc_labels_destroy(labels);
        return status;
    }
    *labels_p = labels;
    return TC_OK;
}

/* The place of a name: its own, or the empty one where it belongs. */
static place *find(const tc_labels *labels, const char *name, size_t length)
{
    uint64_t i = XXH3_64bits(name, length), mask = labels->size - 1;

    for (;; i++) {
        place *p = &labels->table[i & mask];
        if (p->name == 0)
            return p;
        const char *there = (const char *)labels->names.data + (p->name - 1);
        if (strncmp(there, name, length) == 0 && there[length] == '\0')
            return p;
    }
}

static tc_status grow(tc_labels *labels)
{
    place *old = labels->table, *table = NULL;
    uint64_t size = labels->size;

    tc_status status = tc_alloc((int64_t)size * 2, sizeof *table, "labels", &table);
    if (status != TC_OK)
        return status;
    labels->table = table;
    labels->size = size * 2;
    for (uint64_t i = 0; i < size; i++) {
        if (old[i].name == 0)
            continue;
        const char *name = (const char *)labels->names.data + (old[i].name - 1);
        *find(labels, name, strlen(name)) = old[i];
    }
    tc_free(old);
    return TC_OK;
}

/* Give a picture a class; @p line is for the message. */
static tc_status add(tc_labels *labels, const char *name, int32_t class, uint64_t line)
{
    size_t length = strlen(name);
    place *p = find(labels, name, length);

    if (p->name != 0 && p->class != class)
        return tc_fail(TC_FORMAT, "%s: line %" PRIu64 ": %.300s has another class further up",
                       labels->map.path, line, name);
    if (p->name != 0)
        return TC_OK;
    *p = (place){ .name = labels->names.bytes + 1, .class = class };
    labels->count++;
    tc_status status = tc_buffer_append(&labels->names, name, length + 1);
    return status == TC_OK && labels->count * 2 > labels->size ? grow(labels) : status;
}

/* All are in: put the classes in order. */
static tc_status finish(tc_labels *labels)
{
    int64_t met = 0;

    return tc_classes_order(labels->classes, &labels->final, &met, &labels->map.classes,
                            &labels->map.n_classes);
}

/* Words as dataset.json can have them: cut between characters, and text. */
static void set_words(tc_class *class, const char *words)
{
    size_t n = (size_t)snprintf(class->words, sizeof class->words, "%s", words);

    if (n >= sizeof class->words)
        for (n = sizeof class->words - 1; n > 0 && !tc_is_text(class->words); n--)
            class->words[n - 1] = '\0';
    for (char *p = class->words; !tc_is_text(class->words) && *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
            *p = '?';
}

/* The class with this ID, or NULL. */
static const tc_synset *by_id(const tc_buffer *synsets, int64_t id)
{
    const tc_synset *list = (const tc_synset *)(const void *)synsets->data;

    for (size_t i = 0; i < synsets->bytes / sizeof *list; i++)
        if (list[i].id == id)
            return &list[i];
    return NULL;
}

static tc_status add_truth(tc_labels *labels, const tc_buffer *synsets, const char *truth)
{
    tc_status status = TC_OK;

    for (uint64_t line = 1; status == TC_OK; line++) {
        char name[64], *end = NULL;
        int32_t class = 0;
        truth += strspn(truth, " \t\r\n");
        if (*truth == '\0')
            break;
        long long id = strtoll(truth, &end, 10);
        const tc_synset *synset = by_id(synsets, id);
        if (end == truth || synset == NULL)
            return tc_fail(TC_FORMAT,
                           "%s: ILSVRC2012_validation_ground_truth.txt: line %" PRIu64
                           ": \"%.*s\" is none of the %zu ILSVRC2012_IDs of meta.mat",
                           labels->map.path, line, (int)strcspn(truth, " \t\r\n"), truth,
                           synsets->bytes / sizeof *synset);
        truth = end;
        snprintf(name, sizeof name, "ILSVRC2012_val_%08" PRIu64, line);
        status = tc_classes_find(labels->classes, synset->wnid, strlen(synset->wnid), &class);
        if (status == TC_OK)
            status = add(labels, name, class, line);
    }
    return status;
}

tc_status tc_labels_from_devkit(const char *path, tc_labels **labels_p)
{
    tc_buffer synsets = { 0 }, truth = { 0 };
    tc_labels *labels = NULL;
    int32_t class = 0;

    tc_status status = create(path, &labels);
    if (status == TC_OK)
        status = tc_devkit_read(path, &synsets, &truth);
    const tc_synset *list = (const tc_synset *)(const void *)synsets.data;
    size_t n = synsets.bytes / sizeof *list;
    for (size_t i = 0; status == TC_OK && i < n; i++) {
        status = tc_classes_find(labels->classes, list[i].wnid, strlen(list[i].wnid), &class);
        if (status == TC_OK && tc_classes_meet(labels->classes, class) > 0)
            status = tc_fail(TC_FORMAT, "%s: meta.mat has class %s twice", path, list[i].wnid);
    }
    if (status == TC_OK)
        status = add_truth(labels, &synsets, (const char *)truth.data);
    if (status == TC_OK)
        status = finish(labels);
    for (size_t i = 0; status == TC_OK && i < n; i++) {
        status = tc_classes_find(labels->classes, list[i].wnid, strlen(list[i].wnid), &class);
        if (status == TC_OK)
            set_words(&labels->map.classes[labels->final[class]], list[i].words);
    }
    tc_buffer_free(&synsets);
    tc_buffer_free(&truth);
    if (status != TC_OK) {
        tc_labels_destroy(labels);
        return status;
    }
    *labels_p = labels;
    return TC_OK;
}

/* Read a text file and close it by a NUL. */
static tc_status read_text(const char *path, tc_buffer *text)
{
    tc_status status = tc_read_file(path, text);

    if (status == TC_OK && memchr(text->data, '\0', text->bytes) != NULL)
        status = tc_fail(TC_FORMAT, "%s: not a text file", path);
    return status == TC_OK ? tc_buffer_append(text, "", 1) : status;
}

/* Cut the next line out of a text, without spaces at its ends; NULL behind the last one. */
static char *next_line(char **text_p)
{
    char *line = *text_p;

    if (*line == '\0')
        return NULL;
    size_t length = strcspn(line, "\n");
    *text_p = line + length + (line[length] == '\n');
    while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL)
        length--;
    line[length] = '\0';
    return line + strspn(line, " \t");
}

/* Cut a line into name and class; false: it has not both. */
static bool cut(char *line, bool csv, char **class_p)
{
    char *gap = line;

    if (csv) {
        gap += strcspn(line, ",");
        if (*gap != ',')
            return false;
        *class_p = gap + 1 + strspn(gap + 1, " \t");
        (*class_p)[strcspn(*class_p, " \t,")] = '\0'; /* the boxes behind it */
    } else {
        gap += strlen(line); /* the class is the last word: a name may have spaces */
        while (gap > line && strchr(" \t", gap[-1]) == NULL)
            gap--;
        *class_p = gap;
        while (gap > line && strchr(" \t", gap[-1]) != NULL)
            gap--;
    }
    *gap = '\0';
    return line[0] != '\0' && **class_p != '\0';
}

tc_status tc_labels_from_file(const char *path, tc_labels **labels_p)
{
    tc_labels *labels = NULL;
    tc_buffer text = { 0 };
    bool csv = false;

    tc_status status = create(path, &labels);
    if (status == TC_OK)
        status = read_text(path, &text);
    char *rest = (char *)text.data, *line;
    for (uint64_t n = 1; status == TC_OK && (line = next_line(&rest)) != NULL; n++) {
        char *class_name = NULL;
        int32_t class = 0;
        bool head = n == 1 && strncmp(line, "ImageId,", 8) == 0;
        csv = csv || head;
        if (head || *line == '\0')
            continue;
        if (!cut(line, csv, &class_name)) {
            status =
                tc_fail(TC_FORMAT, "%s: line %" PRIu64 ": a name and a class are wanted", path, n);
            break;
        }
        status = tc_classes_find(labels->classes, class_name, strlen(class_name), &class);
        if (status != TC_OK)
            status = tc_fail(status, "%s: line %" PRIu64 ": %s", path, n, tc_error_detail());
        else
            tc_classes_meet(labels->classes, class);
        if (status == TC_OK)
            status = add(labels, line + (strncmp(line, "./", 2) == 0 ? 2 : 0), class, n);
    }
    if (status == TC_OK && labels->count == 0)
        status = tc_fail(TC_FORMAT, "%s: it names no picture", path);
    if (status == TC_OK)
        status = finish(labels);
    tc_buffer_free(&text);
    if (status != TC_OK) {
        tc_labels_destroy(labels);
        return status;
    }
    *labels_p = labels;
    return TC_OK;
}

const char *tc_labels_find(const tc_labels *labels, const char *name)
{
    const char *slash = strrchr(name, '/'), *last = slash == NULL ? name : slash + 1;
    const char *dot = strrchr(last, '.');
    const place *p = find(labels, name, strlen(name));

    if (p->name == 0)
        p = find(labels, last, strlen(last));
    if (p->name == 0 && dot != NULL)
        p = find(labels, last, (size_t)(dot - last));
    return p->name == 0 ? NULL : labels->map.classes[labels->final[p->class]].name;
}

uint64_t tc_labels_count(const tc_labels *labels)
{
    return labels->count;
}

const tc_dataset *tc_labels_map(const tc_labels *labels)
{
    return &labels->map;
}

tc_status tc_labels_read_words(const char *path, tc_class *classes, int64_t n)
{
    tc_buffer text = { 0 };
    char *rest, *line;

    tc_status status = read_text(path, &text);
    rest = (char *)text.data;
    while (status == TC_OK && (line = next_line(&rest)) != NULL) {
        size_t length = strcspn(line, " \t");
        for (int64_t c = 0; c < n; c++)
            if (strlen(classes[c].name) == length && memcmp(classes[c].name, line, length) == 0)
                set_words(&classes[c], line + length + strspn(line + length, " \t"));
    }
    tc_buffer_free(&text);
    return status;
}
