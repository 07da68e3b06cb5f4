#ifndef TC_PACK_JOURNAL_H
#define TC_PACK_JOURNAL_H
/**
 * @file journal.h
 * What became of every picture so far, so that an interrupted packing goes on where it ended.
 *
 * DIR/split/journal.tmp has one entry a picture, in the order of the source: a hash of its name, a
 * hash of the bytes it was made of, and where its record lies.  Every entry vouches for itself and
 * for its record's bytes, so nothing has to reach the disk in any order: what was not written is
 * seen, and the entries before it count.  A second run walks the source again and holds each
 * picture against its entry; what agrees is taken over and not coded again, and the result has the
 * very bytes of an undisturbed run.
 *
 * Flow: tc_journal_open() -> tc_journal_left() -> tc_journal_next() … -> tc_journal_add() …
 *       -> tc_journal_close().  Used by: create.
 */
#include "data-prep/commands.h"

typedef struct {
    uint64_t name;            /* hash of the names of record and member */
    uint64_t source;          /* hash of the bytes it was made of */
    uint64_t bytes, checksum; /* of the record; 0 bytes: rejected */
    tc_recoded result;
    char why[1024]; /* of a rejected one */
} tc_journal_entry;

typedef struct tc_journal tc_journal;

/** The shard of record i: hash(seed, i) mod S. */
uint32_t tc_journal_shard(const tc_create_options *options, uint64_t i);

/**
 * Look for what an interrupted run with these options left in a folder, and read every byte of it.
 * What cannot be gone on with is removed, and a new journal begun.
 * @param anew  Remove it in any case.
 * @retval TC_IO
 */
tc_status tc_journal_open(const char *folder, const tc_create_options *options, bool anew,
                          tc_journal **journal_p);

/** Close it; it stays where `keep` says so and it holds enough to go on with.  NULL accepted.
 *  Returns whether it stays, and with it the unfinished shards have to. */
bool tc_journal_close(tc_journal *journal, bool keep);

uint64_t tc_journal_left(const tc_journal *journal);              /* entries not taken yet */
uint64_t tc_journal_bytes(const tc_journal *journal, uint32_t s); /* of data left in shard s */

/** Take the next of those left.  @retval TC_IO */
tc_status tc_journal_next(tc_journal *journal, tc_journal_entry *entry);

/** Add one behind them.  *flush_p is set where the caller should flush the shards and then the
 *  journal.  @retval TC_IO */
tc_status tc_journal_add(tc_journal *journal, const tc_journal_entry *entry, bool *flush_p);
tc_status tc_journal_flush(tc_journal *journal);

#endif
