#ifndef TC_STORE_STORE_IMPL_H
#define TC_STORE_STORE_IMPL_H
/**
 * @file store_impl.h
 * Inside of a store: what all kinds share, and the table of a kind.  Private to store/.
 */
#include "store/exchange.h"
#include "store/handles.h"
#include "store/order.h"
#include "store/slots.h"
#include "store/store.h"
#include "store/windows.h"

typedef struct {
    const char *name;
    /* Collective, each; votes before it communicates. */
    tc_status (*open)(tc_store *store);
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
    tc_handles *handles;   /* for records and names that are read from the shards */
    tc_windows *windows;   /* `shards`, `files` */
    char *files;           /* `files`: the folder */
    uint64_t memory_limit; /* bytes; 0: what is free */
    uint64_t round_bytes;
    uint64_t last_epoch; /* that memory is planned for */
    tc_store_held held;  /* `memory` */
    tc_exchange exchange;
    char choices[256];
};

/** Say that the bytes of record `id` are not those that were packed: TC_FORMAT. */
tc_status tc_store_damaged(tc_store *store, uint64_t id);
/** Add to the text of a failure which record was to be read: returns @p status. */
tc_status tc_store_unread(const tc_store *store, uint64_t id, tc_status status);

/*
 * The first load, of this rank's share of the set: held->order, as far as held->place goes.  Shards
 * are opened one at a time.  load.c
 */

/** Not collective: check the indexes and fill the places, but for the slots. */
tc_status tc_store_survey(tc_store *store);
/** Not collective: read all records of the share into slots, verified, with a progress line. */
tc_status tc_store_load(tc_store *store);
/** Bytes that tc_store_load() takes for itself; `round` bytes can be borrowed. */
uint64_t tc_store_load_bytes(const tc_store *store, uint64_t round);

/** The slots that this rank needs for its share, and in the fullest epoch from that of store->order
 *  to store->last_epoch.  Collective; votes on @p mine, the status of the survey.  need.c */
tc_status tc_store_need(tc_store *store, tc_status mine, uint64_t *slots_p);

/** Bytes that a process of this host may still take, shared fairly by the ranks on it; UINT64_MAX
 *  where the system does not say.  @param root  "", or where a test keeps /proc and /sys.
 *  free_memory.c */
uint64_t tc_store_free_memory(const char *root, int ranks_here);

#endif
