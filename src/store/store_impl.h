#ifndef TC_STORE_STORE_IMPL_H
#define TC_STORE_STORE_IMPL_H
/**
 * @file store_impl.h
 * Inside of a store: what all kinds share, and the table of a kind.  Private to store/.
 */
#include "store/exchange.h"
#include "store/handles.h"
#include "store/index.h"
#include "store/order.h"
#include "store/slots.h"
#include "store/store.h"

typedef struct {
    const char *name;
    bool indexed; /* needs store->index */
    /* Collective, each; votes before it communicates. */
    tc_status (*open)(tc_store *store, const tc_store_share *share);
    tc_status (*begin_epoch)(tc_store *store); /* store->order is the new epoch's */
    /* Position pos, which is held here; its record is `id`. */
    tc_status (*borrow)(tc_store *store, uint64_t pos, uint64_t id, tc_buffer *scratch,
                        tc_record *rec_p);
    void (*describe)(tc_store *store); /* fill store->choices */
    void (*close)(tc_store *store);    /* accepts a half-built store */
} tc_store_kind;

extern const tc_store_kind tc_store_memory_kind, tc_store_shards_kind, tc_store_files_kind;

struct tc_store {
    const tc_store_kind *kind;
    tc_comm *world; /* borrowed */
    tc_comm *group; /* the ranks that hold one copy of the set */
    int groups;
    tc_dataset *dataset;
    tc_store_order order;
    tc_store_index index;
    tc_handles *handles;        /* for records and names that are read from the shards */
    struct tc_windows *windows; /* `shards` */
    char *files;           /* `files`: the folder */
    uint64_t memory_limit; /* bytes; 0: what is free */
    uint64_t round_bytes;
    tc_store_held held; /* `memory` */
    tc_exchange exchange;
    char choices[256];
};

/** Not collective: read all records of the share into slots, verified.  load.c */
tc_status tc_store_load(tc_store *store, const tc_store_share *share);
/** Bytes that it reads at a time, about, and takes for that. */
uint64_t tc_store_load_bytes(const tc_store *store, const tc_store_share *share);

/** Bytes that a process of this host may still take, shared fairly by the ranks on it; UINT64_MAX
 *  where the system does not say.  @param root  "", or where a test keeps /proc and /sys.
 *  free_memory.c */
uint64_t tc_store_free_memory(const char *root, int ranks_here);

#endif
