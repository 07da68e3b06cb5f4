#include <config.h>

#include "store/store.h"

#include "store/store_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ROUND (UINT64_C(64) << 20)

static const tc_store_kind *const kinds[] = { &tc_store_memory_kind, &tc_store_shards_kind,
                                              &tc_store_files_kind };

static const tc_store_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

static tc_status check_options(const tc_comm *comm, const tc_store_options *o)
{
    if (find_kind(o->kind) == NULL)
        return tc_fail(TC_INVAL, "--store %s is not known; memory, shards and files are", o->kind);
    if (o->groups < 1 || tc_comm_size(comm) % o->groups != 0)
        return tc_fail(TC_INVAL, "--store-groups %d does not divide the %d ranks", o->groups,
                       tc_comm_size(comm));
    if (o->devices < 1 || o->batch < 1)
        return tc_fail(TC_INVAL, "a store for %d devices a rank and %lld pictures each", o->devices,
                       (long long)o->batch);
    return TC_OK;
}

/* The folder of the `files` kind: given, or beside the shards. */
static tc_status name_folder(tc_store *store, const tc_store_options *o)
{
    size_t bytes = strlen(store->dataset->path) + sizeof "/files";

    if (o->files != NULL)
        store->files = strdup(o->files);
    else if ((store->files = malloc(bytes)) != NULL)
        snprintf(store->files, bytes, "%s/files", store->dataset->path);
    return store->files != NULL ? TC_OK : tc_fail(TC_NOMEM, "no memory for the name of a folder");
}

/* Everything that one rank does alone; *store_p is set as soon as there is one. */
static tc_status prepare(tc_comm *comm, const tc_store_options *o, tc_store **store_p)
{
    tc_store *store;
    tc_status status = check_options(comm, o);

    if (status == TC_OK)
        status = tc_alloc(1, sizeof *store, "store", &store);
    if (status != TC_OK)
        return status;
    *store_p = store;
    store->kind = find_kind(o->kind);
    store->world = comm;
    store->groups = o->groups;
    store->memory_limit = o->memory_limit;
    store->last_epoch = o->epochs > 0 ? o->epochs - 1 : 0;
    store->round_bytes = o->round_bytes > 0 ? o->round_bytes : DEFAULT_ROUND;
    status = tc_dataset_read(o->dir, o->split, &store->dataset);
    if (status != TC_OK)
        return status;
    store->order = (tc_store_order){
        .records = store->dataset->records,
        .block = (uint64_t)o->batch * (uint64_t)o->devices,
        .ranks = (uint64_t)(tc_comm_size(comm) / o->groups),
        .seed = o->seed,
        .shuffle = o->shuffle,
    };
    status = tc_handles_create(store->dataset, o->open_shards, &store->handles);
    return status == TC_OK ? name_folder(store, o) : status;
}

/* Ranks that see different sets would wait for each other's records for ever.  Collective. */
static tc_status compare_sets(tc_store *store)
{
    const tc_dataset *dataset = store->dataset;
    uint64_t mine[3] = { dataset->identity, dataset->records, dataset->class_hash };
    uint64_t first[3];

    memcpy(first, mine, sizeof first);
    tc_status status = tc_comm_bcast(store->world, first, sizeof first, 0);
    if (status != TC_OK)
        return status;
    if (memcmp(first, mine, sizeof mine) != 0)
        status = tc_fail(TC_INVAL,
                         "%s: not the data set that rank 0 sees under this name; every rank needs "
                         "the same",
                         dataset->path);
    return tc_comm_agree(store->world, status);
}

/* Open what all ranks prepared. */
static tc_status open_together(tc_store *store, uint64_t first_epoch)
{
    int ranks = (int)store->order.ranks;

    tc_status status = compare_sets(store);
    if (status == TC_OK)
        status = tc_comm_split(store->world, tc_comm_rank(store->world) / ranks, &store->group);
    if (status != TC_OK)
        return status;
    tc_store_order_begin(&store->order, first_epoch);
    if (store->last_epoch < first_epoch || !store->order.shuffle)
        store->last_epoch = first_epoch;
    status = store->kind->open(store);
    if (status == TC_OK)
        store->kind->describe(store);
    return status;
}

tc_status tc_store_open(tc_comm *comm, const tc_store_options *options, uint64_t first_epoch,
                        tc_store **store_p)
{
    tc_store *store = NULL;
    tc_status status = tc_comm_agree(comm, prepare(comm, options, &store));

    if (status == TC_OK)
        status = open_together(store, first_epoch);
    if (status != TC_OK) {
        tc_store_close(store);
        return status;
    }
    *store_p = store;
    return TC_OK;
}

void tc_store_close(tc_store *store)
{
    if (store == NULL)
        return;
    store->kind->close(store);
    tc_windows_free(store->windows);
    tc_handles_free(store->handles);
    tc_dataset_free(store->dataset);
    tc_comm_destroy(store->group);
    free(store->files);
    tc_free(store);
}

tc_status tc_store_begin_epoch(tc_store *store, uint64_t epoch)
{
    tc_store_order before = store->order;

    if (epoch == before.epoch)
        return TC_OK;
    tc_store_order_begin(&store->order, epoch);
    if (!store->order.shuffle)
        return TC_OK; /* the same order in every epoch */
    tc_status status = store->kind->begin_epoch(store);
    if (status == TC_OK)
        store->kind->describe(store);
    else
        store->order = before; /* where the records still are, unless the exchange itself failed */
    return status;
}

uint64_t tc_store_records(const tc_store *store)
{
    return store->order.records;
}

uint64_t tc_store_max_bytes(const tc_store *store)
{
    return store->dataset->max_bytes;
}

uint64_t tc_store_id(const tc_store *store, uint64_t pos)
{
    return tc_store_order_record(&store->order, pos);
}

bool tc_store_holds(const tc_store *store, uint64_t pos)
{
    return pos < store->order.records &&
           tc_store_order_holder(&store->order, pos) == tc_comm_rank(store->group);
}

tc_status tc_store_borrow(tc_store *store, uint64_t pos, tc_buffer *scratch, tc_record *rec_p)
{
    if (!tc_store_holds(store, pos))
        return tc_fail(TC_INVAL, "%s: position %llu of epoch %llu is not held by this rank",
                       store->dataset->path, (unsigned long long)pos,
                       (unsigned long long)store->order.epoch);
    uint64_t id = tc_store_order_record(&store->order, pos);
    return store->kind->borrow(store, pos, id, scratch, rec_p);
}

tc_status tc_store_name(tc_store *store, uint64_t id, char *name, size_t size)
{
    const tc_shard *shard;
    tc_shard_entry entry;
    uint32_t s;
    uint64_t i;

    if (id >= store->order.records)
        return tc_fail(TC_INVAL, "%s: record %llu of %llu asked for", store->dataset->path,
                       (unsigned long long)id, (unsigned long long)store->order.records);
    tc_dataset_locate(store->dataset, id, &s, &i);
    tc_status status = tc_handles_borrow(store->handles, s, &shard);
    if (status == TC_OK) {
        status = tc_shard_fetch_entry(shard, i, &entry, name, size);
        tc_handles_release(store->handles, s);
    }
    if (status != TC_OK)
        snprintf(name, size, "shard %u, record %llu", s, (unsigned long long)i);
    return status;
}

tc_status tc_store_damaged(tc_store *store, uint64_t id)
{
    char name[256];
    uint32_t shard;
    uint64_t i;

    tc_dataset_locate(store->dataset, id, &shard, &i);
    (void)tc_store_name(store, id, name, sizeof name);
    return tc_fail(TC_FORMAT,
                   "%s/%05u.shard: record %llu (%s): its checksum is wrong: damaged; copy the "
                   "shard again or pack again",
                   store->dataset->path, shard, (unsigned long long)i, name);
}

tc_status tc_store_unread(const tc_store *store, uint64_t id, tc_status status)
{
    char why[2048];
    uint32_t shard;
    uint64_t i;

    snprintf(why, sizeof why, "%s", tc_error_detail());
    tc_dataset_locate(store->dataset, id, &shard, &i);
    return tc_fail(status, "%s (wanted: record %llu of %05u.shard)", why, (unsigned long long)i,
                   shard);
}

const char *tc_store_choices(const tc_store *store)
{
    return store->choices;
}
