#include <config.h>

#include "data-prep/classmap.h"

#include "data-prep/classes.h"

#include "base/log.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGENET_CLASSES 1000
#define IMAGENET_TRAIN   UINT64_C(1281167)
#define IMAGENET_VAL     UINT64_C(50000)

/* Read the set whose class map has to be kept. */
static tc_status read_kept(const tc_create_options *o, tc_classmap *map)
{
    char dir[PATH_MAX], mark[PATH_MAX + 32];
    const char *split = "train";

    if (o->classes_from == NULL) {
        snprintf(mark, sizeof mark, "%s/train/dataset.json", o->out);
        if (strcmp(o->split, "train") == 0 || access(mark, F_OK) != 0)
            return TC_OK;
        return tc_dataset_read(o->out, "train", &map->kept);
    }
    int length = snprintf(dir, sizeof dir, "%s", o->classes_from);
    if (length >= (int)sizeof dir)
        return tc_fail(TC_INVAL, "%.100s…: the path is too long", o->classes_from);
    while (length > 1 && dir[length - 1] == '/')
        dir[--length] = '\0';
    char *slash = strrchr(dir, '/');
    const char *last = slash == NULL ? dir : slash + 1;
    if (strcmp(last, "train") == 0 || strcmp(last, "val") == 0) {
        split = strcmp(last, "val") == 0 ? "val" : "train";
        if (slash == NULL)
            snprintf(dir, sizeof dir, ".");
        else
            *slash = '\0';
    }
    return tc_dataset_read(dir, split, &map->kept);
}

/* A list of Kaggle's in the source folder. */
static bool find_list(const tc_create_options *o, const char *name, char path[4096])
{
    return o->n_sources == 1 && snprintf(path, 4096, "%s/%s", o->sources[0], name) < 4096 &&
           access(path, R_OK) == 0;
}

static tc_status read_labels(const tc_create_options *o, tc_classmap *map)
{
    bool val = strcmp(o->split, "val") == 0 && o->hold_out == 0;
    char list[4096];

    if (o->labels != NULL) {
        map->flat = true;
        return tc_labels_from_file(o->labels, &map->labels);
    }
    if (o->devkit != NULL) {
        map->flat = val; /* the kit knows the classes of the validation pictures alone */
        return tc_labels_from_devkit(o->devkit, &map->labels);
    }
    if (!val || o->prefix != NULL || !find_list(o, "LOC_val_solution.csv", list))
        return TC_OK;
    tc_log(TC_LOG_INFO, "pack", "the classes of the pictures are taken from %s", list);
    map->flat = true;
    return tc_labels_from_file(list, &map->labels);
}

tc_status tc_classmap_read(const tc_create_options *options, tc_classmap *map)
{
    tc_status status = read_kept(options, map);

    if (status == TC_OK)
        status = read_labels(options, map);
    if (status != TC_OK)
        return status;
    if (options->words != NULL)
        snprintf(map->words, sizeof map->words, "%s", options->words);
    else if (!find_list(options, "LOC_synset_mapping.txt", map->words))
        map->words[0] = '\0';
    if (options->subset && map->kept == NULL)
        return tc_fail(TC_INVAL,
                       "%s: no train set that --subset could go by; pack train first, or name one "
                       "with --classes-from",
                       options->out);
    if (options->devkit == NULL || !map->flat || map->kept == NULL || options->subset)
        return TC_OK;
    const tc_dataset *kit = tc_labels_map(map->labels);
    if (tc_class_hash(kit->classes, kit->n_classes) != map->kept->class_hash)
        return tc_fail(TC_FORMAT,
                       "%s: its %" PRId64 " classes are not the %" PRId64 " of %s; train and val "
                       "must have the same: pack train from the same ILSVRC2012, or pass over the "
                       "pictures of the other classes with --subset",
                       kit->path, kit->n_classes, map->kept->n_classes, map->kept->path);
    return TC_OK;
}

void tc_classmap_free(tc_classmap *map)
{
    tc_labels_destroy(map->labels);
    tc_dataset_free(map->kept);
}

const tc_dataset *tc_classmap_fixed(const tc_classmap *map)
{
    if (map->kept != NULL)
        return map->kept;
    return map->flat ? tc_labels_map(map->labels) : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tc_class *)a)->name, ((const tc_class *)b)->name);
}

tc_status tc_classmap_words(const tc_classmap *map, tc_dataset *dataset)
{
    const tc_dataset *from = map->labels == NULL ? NULL : tc_labels_map(map->labels);
    int64_t without = 0;

    for (int64_t c = 0; from != NULL && c < dataset->n_classes; c++) {
        const tc_class *known = bsearch(&dataset->classes[c], from->classes,
                                        (size_t)from->n_classes, sizeof *known, by_name);
        if (known != NULL && known->words[0] != '\0')
            memcpy(dataset->classes[c].words, known->words, sizeof known->words);
    }
    tc_status status = map->words[0] == '\0'
                           ? TC_OK
                           : tc_labels_read_words(map->words, dataset->classes, dataset->n_classes);
    for (int64_t c = 0; c < dataset->n_classes; c++)
        without += dataset->classes[c].words[0] == '\0';
    if (status == TC_OK && without > 0 && without < dataset->n_classes)
        tc_log(TC_LOG_WARN, "pack", "no words are known for %" PRId64 " of the %" PRId64 " classes",
               without, dataset->n_classes);
    return status;
}

/* The other split, where it is packed, must have the same classes. */
static tc_status compare_other(const tc_create_options *o, const tc_dataset *dataset)
{
    const char *other = strcmp(o->split, "train") == 0 ? "val" : "train";
    char mark[PATH_MAX + 32];
    tc_dataset *set = NULL;

    snprintf(mark, sizeof mark, "%s/%s/dataset.json", o->out, other);
    if (access(mark, F_OK) != 0)
        return TC_OK;
    tc_status status = tc_dataset_read(o->out, other, &set);
    bool same = status == TC_OK && set->class_hash == dataset->class_hash;
    if (!same && o->force && strcmp(other, "val") == 0) {
        tc_log(TC_LOG_WARN, "pack", "%s/val has other classes than these: pack it again", o->out);
        status = TC_OK;
    } else if (status == TC_OK && !same) {
        status = tc_fail(TC_FORMAT,
                         "%s/%s has other classes (%lld) than these (%lld); pack both splits from "
                         "the same class folders, train first",
                         o->out, other, (long long)set->n_classes, (long long)dataset->n_classes);
    }
    tc_dataset_free(set);
    return status;
}

static bool is_wnid(const char *name)
{
    return strlen(name) == 9 && name[0] == 'n' && strspn(name + 1, "0123456789") == 8;
}

/* A set of the 1,000 classes that has not all pictures, or more. */
static void compare_count(const tc_create_options *o, const tc_dataset *dataset, uint64_t pictures)
{
    uint64_t whole = strcmp(o->split, "train") == 0 ? IMAGENET_TRAIN : IMAGENET_VAL;

    if (dataset->n_classes != IMAGENET_CLASSES || o->hold_out > 0 || pictures == whole)
        return;
    for (int64_t c = 0; c < dataset->n_classes; c++)
        if (!is_wnid(dataset->classes[c].name))
            return;
    tc_log(TC_LOG_WARN, "pack",
           "%" PRIu64 " pictures were met in %d classes; the whole of ILSVRC2012 has %" PRIu64
           " in %s: %" PRIu64 " %s",
           pictures, IMAGENET_CLASSES, whole, o->split,
           pictures < whole ? whole - pictures : pictures - whole,
           pictures < whole ? "are missing" : "too many");
}

/* Folders called by numbers: which is which, unless every class is called by its own. */
static void tell_numbers(const tc_create_options *o, const tc_dataset *dataset)
{
    bool rising = true, same = true;

    for (int64_t c = 0; c < dataset->n_classes; c++) {
        if (!tc_is_number(dataset->classes[c].name))
            return;
        same = same && strtoll(dataset->classes[c].name, NULL, 10) == c;
        rising = rising && (c == 0 || strtoll(dataset->classes[c - 1].name, NULL, 10) <
                                          strtoll(dataset->classes[c].name, NULL, 10));
    }
    if (!o->numeric && same)
        return;
    if (!rising)
        tc_log(TC_LOG_WARN, "pack",
               "class folders are called by numbers, and the classes numbered in bytewise order of "
               "the names; --numeric keeps the order of the numbers");
    printf("class=folder:");
    for (int64_t c = 0; c < dataset->n_classes; c++)
        printf(" %" PRId64 "=%s", c, dataset->classes[c].name);
    printf("\n");
}

tc_status tc_classmap_check(const tc_create_options *options, const tc_classmap *map,
                            const tc_dataset *dataset, int64_t met, uint64_t pictures)
{
    const tc_dataset *fixed = tc_classmap_fixed(map);

    if (strcmp(options->split, "val") == 0 && met == 1 && (fixed == NULL || fixed->n_classes > 1))
        return tc_fail(TC_FORMAT,
                       "%s: all %" PRIu64 " pictures lie in one class folder: most likely pictures "
                       "without class folders; give their classes with --devkit or --labels",
                       options->sources[options->n_sources - 1], pictures);
    compare_count(options, dataset, pictures);
    tell_numbers(options, dataset);
    return compare_other(options, dataset);
}
