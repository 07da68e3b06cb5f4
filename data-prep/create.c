#include <config.h>

#include "data-prep/classes.h"
#include "data-prep/classmap.h"
#include "data-prep/commands.h"
#include "data-prep/folder.h"
#include "data-prep/journal.h"
#include "data-prep/list.h"
#include "data-prep/pipeline.h"
#include "data-prep/source.h"
#include "data-prep/sums.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "shard/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* One run of create. */
typedef struct {
    const tc_create_options *options;
    tc_dataset *dataset; /* as it will be written */
    tc_classmap map;
    int lock; /* on the folder; -1: none */
    tc_classes *classes;
    tc_shard_writer **writers;
    tc_pipeline *pipeline;
    tc_list *list;
    tc_journal *journal;
    bool changed; /* the source is not that of the run to be gone on with */
    const char *source;
    tc_buffer name; /* of a record whose class does not stand in its picture's name */
    uint64_t records;
    uint64_t pictures; /* met */
    uint64_t passed;   /* pictures of classes that the set is not about, with --subset */
    uint64_t direct;   /* of these, in their class folder itself, not deeper */
    double started;
} creation;

/* Something in the source that is no sound picture: name it, or leave it out and note it. */
static tc_status reject(creation *c, const char *member, tc_fault fault, const char *why)
{
    bool partly = fault == TC_FAULT_TRUNCATED || fault == TC_FAULT_DAMAGED;

    if (c->options->skip)
        return tc_list_reject(c->list, c->source, member, fault, why);
    return tc_fail(TC_FORMAT,
                   "%s: %s: %s; remove it, or leave out such files with --on-error "
                   "skip%s",
                   c->source, member, why,
                   partly ? ", or keep what can be seen of them with --on-error keep" : "");
}

static void show_progress(const creation *c, bool done)
{
    double seconds = tc_now() - c->started;

    if (done || seconds > 1.0) /* a rate of less says nothing */
        tc_progress(done, "pack: %s: %" PRIu64 " records, %.0f/s%s", c->dataset->split, c->records,
                    seconds > 0 ? (double)c->records / seconds : 0.0, done ? ", done" : "");
}

static uint64_t hash_name(const char *name, const char *member)
{
    return XXH3_64bits_withSeed(name, strlen(name), XXH3_64bits(member, strlen(member)));
}

/* The source is not that of the run to be gone on with. */
static tc_status differ(creation *c, const char *member)
{
    c->changed = true;
    return tc_fail(TC_STOPPED, "%s: %s is not what the interrupted run had there", c->source,
                   member);
}

/* Write down what became of a picture. */
static tc_status note(creation *c, const tc_packed *packed, const tc_shard_entry *entry)
{
    tc_journal_entry known = { .name = hash_name(packed->name, packed->member),
                               .source = packed->source,
                               .bytes = entry == NULL ? 0 : packed->bytes,
                               .checksum = entry == NULL ? 0 : entry->checksum,
                               .result = packed->result };
    bool flush = false;

    if (packed->known)
        return TC_OK;
    if (entry == NULL)
        snprintf(known.why, sizeof known.why, "%s", packed->why);
    tc_status status = tc_journal_add(c->journal, &known, &flush);
    for (uint32_t s = 0; status == TC_OK && flush && s < c->options->shards; s++)
        status = tc_shard_flush(c->writers[s]);
    return status == TC_OK && flush ? tc_journal_flush(c->journal) : status;
}

/* Record i goes to the shard that its number gives and is appended there in input order. */
static tc_status store_record(void *context, const tc_packed *packed)
{
    creation *c = context;
    tc_shard_entry entry = { .label = packed->label,
                             .width = packed->result.w,
                             .height = packed->result.h,
                             .name = packed->name,
                             .bytes = packed->bytes,
                             .checksum = packed->checksum };

    if (packed->status == TC_STOPPED)
        return differ(c, packed->member);
    if (packed->status == TC_FORMAT) {
        tc_status status = reject(c, packed->member, packed->result.fault, packed->why);
        return status == TC_OK ? note(c, packed, NULL) : status;
    }
    if (packed->status != TC_OK)
        return tc_fail(packed->status, "%s: %s: %s", c->source, packed->member, packed->why);
    tc_shard_writer *writer = c->writers[tc_journal_shard(c->options, c->records)];
    if (!packed->known)
        entry.checksum = XXH3_64bits(packed->data, packed->bytes);
    tc_status status = packed->known ? tc_shard_adopt(writer, &entry)
                                     : tc_shard_append(writer, &entry, packed->data, packed->bytes);
    if (status == TC_OK)
        status = note(c, packed, &entry);
    if (status != TC_OK)
        return status;
    tc_classes_keep(c->classes, packed->label);
    c->records++;
    show_progress(c, false);
    return tc_list_note(c->list, c->source, packed->member, &packed->result);
}

/* Put the source before the text of a failure that does not know it. */
static tc_status in_source(const creation *c, tc_status status)
{
    return status == TC_OK ? status : tc_fail(status, "%s: %s", c->source, tc_error_detail());
}

/* Leave something out in its turn: the list does not depend on the threads. */
static tc_status leave_out(creation *c, const tc_source_item *item, const char *why)
{
    tc_status status = tc_pipeline_drain(c->pipeline);

    return status == TC_OK ? reject(c, item->member, TC_FAULT_FOREIGN, why) : status;
}

/* The record's name, "class/picture.jpg": as it comes, or made with the help of the labels. */
static tc_status name_record(creation *c, const tc_source_item *item, const char **name_p)
{
    const char *class = NULL, *slash = strrchr(item->name, '/');

    *name_p = c->map.flat ? NULL : item->name;
    if (!c->map.flat || (class = tc_labels_find(c->map.labels, item->name)) == NULL)
        return TC_OK;
    const char *last = slash == NULL ? item->name : slash + 1;
    c->name.bytes = 0;
    tc_status status = tc_buffer_append(&c->name, class, strlen(class));
    if (status == TC_OK)
        status = tc_buffer_append(&c->name, "/", 1);
    if (status == TC_OK)
        status = tc_buffer_append(&c->name, last, strlen(last) + 1);
    *name_p = (const char *)c->name.data;
    return status;
}

/* Into the pipeline, with what is known of it. */
static tc_status put(creation *c, const tc_source_item *item, const char *name, int32_t label)
{
    bool known = tc_journal_left(c->journal) > 0;
    tc_journal_entry entry;

    tc_status status = known ? tc_journal_next(c->journal, &entry) : TC_OK;
    if (status == TC_OK && known && entry.name != hash_name(name, item->member))
        status = differ(c, item->member);
    return status == TC_OK ? tc_pipeline_put(c->pipeline, name, item->member, label, item->file,
                                             item->data, known ? &entry : NULL)
                           : status;
}

/* Take one item of the source. */
static tc_status take(creation *c, const tc_source_item *item)
{
    int64_t hold = c->options->hold_out;
    const char *name = NULL;
    int32_t label = 0;

    if (item->kind == TC_ITEM_FOREIGN)
        return leave_out(c, item, item->why);
    tc_status status = name_record(c, item, &name);
    if (status == TC_OK && name == NULL)
        return leave_out(c, item, "no class is given for it");
    size_t length = status == TC_OK ? strcspn(name, "/") : 0;
    if (status == TC_OK && c->options->subset && tc_classes_lacks(c->classes, name, length)) {
        c->passed += item->kind == TC_ITEM_PICTURE;
        return TC_OK;
    }
    if (status == TC_OK)
        status = tc_classes_find(c->classes, name, length, &label);
    if (status != TC_OK || item->kind == TC_ITEM_CLASS)
        return in_source(c, status);
    uint64_t before = tc_classes_meet(c->classes, label);
    c->pictures++;
    c->direct += strchr(strchr(name, '/') + 1, '/') == NULL;
    bool held = hold > 0 && (before + 1) % (uint64_t)hold == 0;
    if (hold > 0 && held != (strcmp(c->options->split, "val") == 0))
        return TC_OK;
    status = tc_classes_take_name(c->classes, label, name);
    if (status != TC_OK)
        return in_source(c, status);
    return put(c, item, name, label);
}

/* One source through the pipeline. */
static tc_status feed(creation *c, const char *path)
{
    /* What is held out for val comes from the training pictures. */
    const char *split = c->options->hold_out > 0 ? "train" : c->options->split;
    tc_source_options options = {
        .source = path, .prefix = c->options->prefix, .split = split, .flat = c->map.flat
    };
    tc_source *source = NULL;
    char sum[TC_MD5_TEXT];
    bool end = false;
    tc_md5 md5;

    c->source = path;
    tc_md5_start(&md5);
    if (c->options->md5)
        options.md5 = &md5;
    tc_status status = tc_source_open(&options, &source);
    while (status == TC_OK && !end) {
        tc_source_item item;
        status = tc_source_next(source, &item, &end);
        if (status == TC_OK && !end)
            status = take(c, &item);
    }
    /* Before the next source, so that a message names the right one. */
    if (status == TC_OK)
        status = tc_pipeline_drain(c->pipeline);
    tc_source_close(source);
    if (status == TC_OK && c->options->md5) {
        tc_md5_text(&md5, sum);
        status = tc_sums_check(c->options, path, sum);
    }
    return status;
}

/* Make DIR/split ready, without touching a finished set that is there. */
static tc_status prepare(creation *c)
{
    const tc_create_options *o = c->options;
    tc_dataset *d = c->dataset;
    char path[sizeof d->path + 32];

    if (snprintf(d->path, sizeof d->path, "%s/%s", o->out, o->split) >= (int)sizeof d->path)
        return tc_fail(TC_INVAL, "%.100s…: the path is too long", o->out);
    snprintf(d->split, sizeof d->split, "%s", o->split);
    d->n_shards = o->shards;
    d->seed = o->seed;
    if (o->recode.keep)
        snprintf(d->encoding, sizeof d->encoding, "kept");
    else
        snprintf(d->encoding, sizeof d->encoding,
                 "jpeg q%d 4:2:0, shorter side at most %lld; smaller baseline pictures kept",
                 o->recode.quality, (long long)o->recode.shorter);
    for (int i = 0; i < o->n_sources; i++)
        if (strcmp(o->sources[i], "-") != 0 && access(o->sources[i], R_OK) != 0)
            return tc_fail(TC_IO, "%s: cannot open: %s", o->sources[i], strerror(errno));
    snprintf(path, sizeof path, "%s/dataset.json", d->path);
    if (!o->force && access(path, F_OK) == 0)
        return tc_fail(TC_IO, "%s: there is a finished set already; replace it with --force",
                       d->path);
    tc_status status = tc_sums_begin(o);
    if (status == TC_OK)
        status = tc_classmap_read(o, &c->map);
    if (status == TC_OK)
        status = tc_make_folders(d->path);
    if (status == TC_OK)
        status = tc_folder_claim(d->path, &c->lock);
    if (status != TC_OK)
        return status;
    snprintf(path, sizeof path, "%s/files", d->path);
    if (access(path, F_OK) == 0)
        tc_log(TC_LOG_WARN, "pack", "%s was extracted from an earlier set; extract it again", path);
    return TC_OK;
}

/* Writers of the shards, behind what an interrupted run left of them. */
static tc_status open_writers(creation *c, bool anew)
{
    char path[sizeof c->dataset->path + 32];

    tc_status status = tc_journal_open(c->dataset->path, c->options, anew, &c->journal);
    if (status == TC_OK)
        status = tc_alloc(c->options->shards, sizeof(tc_shard_writer *), "writers", &c->writers);
    for (uint32_t s = 0; status == TC_OK && s < c->options->shards; s++) {
        snprintf(path, sizeof path, "%s/%05u.shard", c->dataset->path, s);
        if (tc_journal_left(c->journal) > 0)
            status = tc_shard_resume(path, s, tc_journal_bytes(c->journal, s), &c->writers[s]);
        else
            status = tc_shard_create(path, s, &c->writers[s]);
    }
    return status;
}

/* Everything is in: fix the labels, finish the shards, write the mark. */
static tc_status finish(creation *c)
{
    tc_dataset *d = c->dataset;
    const int32_t *map = NULL;
    int64_t met = 0, empty = 0;

    if (tc_journal_left(c->journal) > 0)
        return differ(c, "its end");
    if (c->records == 0)
        return tc_fail(TC_FORMAT, "%s: no pictures to pack%s%s", c->source,
                       c->options->prefix != NULL ? " below " : " for this split",
                       c->options->prefix != NULL ? c->options->prefix : "");
    tc_status status = tc_classes_order(c->classes, &map, &met, &d->classes, &d->n_classes);
    if (status != TC_OK)
        return in_source(c, status);
    d->class_hash = tc_class_hash(d->classes, d->n_classes);
    if (d->n_classes == 1 && c->direct == 0)
        return tc_fail(TC_FORMAT,
                       "%s: all pictures lie in folders of one folder, %s; if those are the "
                       "classes, say --prefix %s",
                       c->source, d->classes[0].name, d->classes[0].name);
    status = tc_classmap_words(&c->map, d);
    if (status == TC_OK)
        status = tc_classmap_check(c->options, &c->map, d, met, c->pictures);
    for (uint32_t s = 0; status == TC_OK && s < d->n_shards; s++)
        status = tc_shard_relabel(c->writers[s], map, met);
    if (status == TC_OK)
        status = tc_journal_flush(c->journal);
    for (uint32_t s = 0; status == TC_OK && s < d->n_shards; s++)
        status = tc_shard_seal(c->writers[s]);
    if (status == TC_OK) /* the moment from which an old set is gone */
        status = tc_folder_clear(d->path);
    for (uint32_t s = 0; status == TC_OK && s < d->n_shards; s++) {
        status = tc_shard_finish(c->writers[s]);
        c->writers[s] = NULL;
    }
    if (status == TC_OK)
        status = tc_dataset_scan(d);
    for (int64_t i = 0; status == TC_OK && i < d->n_classes; i++)
        empty += d->classes[i].count == 0;
    uint64_t named = c->map.flat ? tc_labels_count(c->map.labels) : 0;
    if (c->passed > 0)
        tc_log(TC_LOG_INFO, "pack", "%" PRIu64 " pictures of other classes are passed over",
               c->passed);
    if (named > c->pictures + c->passed)
        tc_log(TC_LOG_WARN, "pack",
               "%" PRIu64 " of the %" PRIu64 " pictures that %s names are not "
               "there",
               named - c->pictures - c->passed, named, tc_labels_map(c->map.labels)->path);
    if (empty > 0)
        tc_log(TC_LOG_WARN, "pack", "%" PRId64 " of the %" PRId64 " classes have no picture in %s",
               empty, d->n_classes, d->path);
    if (status == TC_OK)
        status = tc_list_finish(c->list);
    if (status == TC_OK) { /* nothing but the mark is missing */
        tc_journal_close(c->journal, false);
        c->journal = NULL;
        status = tc_dataset_write(d);
    }
    return status;
}

static void print_summary(const creation *c)
{
    const tc_dataset *d = c->dataset;

    printf("%s: %" PRIu64 " records in %" PRId64 " classes, %u shards, %.1f MB, "
           "%" PRIu64 " encoded again, %" PRIu64 " transcoded, %" PRIu64 " rejected, %.1f s\n",
           d->path, d->records, d->n_classes, d->n_shards, (double)d->bytes / 1e6,
           tc_list_outcome(c->list, TC_OUTCOME_ENCODED),
           tc_list_outcome(c->list, TC_OUTCOME_TRANSCODED), tc_list_rejected(c->list),
           tc_now() - c->started);
    tc_list_log(c->list);
}

/* Close everything; of a run that failed and packed something, let what it wrote stay. */
static tc_status end(creation *c, tc_status status)
{
    bool stays = tc_journal_close(c->journal, status != TC_OK && !c->changed);

    tc_pipeline_destroy(c->pipeline);
    for (uint32_t s = 0; c->writers != NULL && s < c->options->shards; s++) {
        if (stays)
            tc_shard_leave(c->writers[s]);
        else
            tc_shard_abandon(c->writers[s]);
    }
    if (stays)
        status = tc_fail(status,
                         "%.800s; what is packed by now stays in %.150s, and create goes on from "
                         "there",
                         tc_error_detail(), c->dataset->path);
    tc_free(c->writers);
    tc_classes_destroy(c->classes);
    tc_classmap_free(&c->map);
    tc_buffer_free(&c->name);
    tc_list_destroy(c->list);
    tc_dataset_free(c->dataset);
    if (c->lock >= 0)
        close(c->lock);
    return status;
}

/* One run; *changed_p is set where what was left cannot be gone on with, and is removed. */
static tc_status create(const tc_create_options *options, bool anew, bool *changed_p)
{
    creation c = { .options = options, .lock = -1, .started = tc_now() };
    tc_pipeline_options pipeline = {
        .threads = options->threads, .recode = options->recode, .sink = store_record, .context = &c
    };

    tc_status status = tc_alloc(1, sizeof *c.dataset, "data set", &c.dataset);
    if (status == TC_OK)
        status = prepare(&c);
    if (status == TC_OK)
        status = open_writers(&c, anew);
    if (status == TC_OK)
        status = tc_list_create(c.dataset->path, &c.list);
    if (status == TC_OK)
        status = tc_classes_create(tc_classmap_fixed(&c.map), options->numeric, &c.classes);
    if (status == TC_OK)
        status = tc_pipeline_create(&pipeline, &c.pipeline);
    for (int i = 0; status == TC_OK && i < options->n_sources; i++)
        status = feed(&c, options->sources[i]);
    if (status == TC_OK)
        status = finish(&c);
    if (status == TC_OK) {
        show_progress(&c, true);
        print_summary(&c);
    }
    *changed_p = c.changed;
    return end(&c, status);
}

tc_status tc_pack_create(const tc_create_options *options)
{
    bool changed = false;

    tc_status status = create(options, false, &changed);
    if (!changed)
        return status;
    for (int i = 0; i < options->n_sources; i++)
        if (strcmp(options->sources[i], "-") == 0)
            return tc_fail(TC_FORMAT, "%s; what that run left is removed: give the input again",
                           tc_error_detail());
    tc_log(TC_LOG_WARN, "pack", "%s: starting again from the first picture", tc_error_detail());
    return create(options, true, &changed);
}
