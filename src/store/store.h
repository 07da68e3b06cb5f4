#ifndef TC_STORE_STORE_H
#define TC_STORE_STORE_H
/**
 * @file store.h
 * The records of one split, by position in the epoch: in the memory of the cluster (`memory`), read
 * from the shards as needed (`shards`) or as one file an image (`files`, the baseline).
 *
 * Flow:  tc_store_open() -> tc_store_begin_epoch(e) -> tc_store_borrow(pos) … every epoch
 *        -> tc_store_close()
 * Used by: loader (borrow), train (the rest).
 *
 * Order: epoch e has one global permutation keyed by (seed, e) alone (identity where not shuffled).
 * Position p belongs to global device D = (p mod B) / b, B the global batch and b that of a device;
 * devices are numbered through the ranks.  Ranks form G groups of equal size; each holds the whole
 * set; in every group the holder of p is rank (D mod devices of the group) / devices a rank.
 * Borrowing is local and never communicates.
 */
#include "base/mem.h"
#include "base/status.h"
#include "comm/comm.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct tc_store tc_store;

typedef struct {
    const char *kind;     /* "memory", "shards" or "files" */
    const char *dir;      /* the data set: dir/split/dataset.json */
    const char *split;    /* "train" or "val" */
    const char *files;    /* `files`: folder of the images; NULL: dir/split/files */
    int groups;           /* memory: G, divides the number of ranks */
    int devices;          /* devices a rank */
    int64_t batch;        /* b, pictures a device and step */
    bool shuffle;         /* false: position p is record p (evaluation) */
    uint64_t seed;
    uint64_t epochs;      /* memory: of the run, which the memory is planned for; 0: not known */
    uint64_t memory_limit; /* bytes a rank may take; 0: what the host has free */
    uint64_t round_bytes; /* bytes a rank sends in a round of the exchange; 0: 64 MiB */
    uint32_t open_shards; /* open at a time in a rank; 0: by the limit of open files */
} tc_store_options;

/** One record, borrowed. */
typedef struct {
    const uint8_t *data;  /* JPEG bytes, contiguous; inside the store or inside `scratch` */
    uint64_t bytes;
    uint64_t id;          /* number of the record in the data set */
    int32_t label;
    uint32_t width, height;
} tc_record;

/**
 * Open a split; `memory` says what its fullest rank will need in the fullest epoch of the run,
 * refuses in time (TC_NOMEM, naming the remedy) and loads the records in large sequential reads
 * with a progress line, placed for @p first_epoch.
 *
 * Collective: yes.   Blocks: on all ranks.
 * @retval TC_IO, TC_FORMAT  names the file; TC_PEER on the other ranks.
 * @retval TC_INVAL  groups do not divide the ranks; unknown kind.
 */
tc_status tc_store_open(tc_comm *comm, const tc_store_options *options, uint64_t first_epoch,
                        tc_store **store_p);
void tc_store_close(tc_store *store); /* NULL and half-built accepted; collective: no */

/**
 * Move every record to its holder in epoch @p epoch (any epoch; a repeated one costs nothing).
 * Nothing may be borrowed.  Collective: yes.   Blocks: on all ranks.
 */
tc_status tc_store_begin_epoch(tc_store *store, uint64_t epoch);

uint64_t tc_store_records(const tc_store *store);    /* N of the split */
uint64_t tc_store_max_bytes(const tc_store *store);  /* of its largest record */
/** Record number at position pos < N of the current epoch (no communication). */
uint64_t tc_store_id(const tc_store *store, uint64_t pos);
/** Whether this rank may borrow position pos. */
bool tc_store_holds(const tc_store *store, uint64_t pos);

/**
 * Borrow the record at a position held here.  Checksums are verified when read from disk.
 *
 * Collective: no.   Thread-safe: yes, with different scratch.   Blocks: files: on the file system.
 *
 * @param scratch     The caller's; the record's bytes may lie in it.
 * @param[out] rec_p  Valid until scratch is used again or the epoch ends; untouched on failure.
 * @retval TC_INVAL   @p pos is not held here.
 * @retval TC_IO, TC_FORMAT  names file and record.
 */
tc_status tc_store_borrow(tc_store *store, uint64_t pos, tc_buffer *scratch, tc_record *rec_p);

/**
 * Look up the name of a record, "class/picture.jpg", in its shard: for messages and lists.
 *
 * Collective: no.   Thread-safe: yes.   Blocks: on the file system.
 * @param[out] name  (size) cut to fit; on failure "shard 3, record 14".   @retval TC_IO, TC_FORMAT
 */
tc_status tc_store_name(tc_store *store, uint64_t id, char *name, size_t size);

/** One line for the log: kind, groups, records and bytes held here, where from. */
const char *tc_store_choices(const tc_store *store);

#endif
