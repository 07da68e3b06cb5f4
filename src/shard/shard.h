#ifndef TC_SHARD_SHARD_H
#define TC_SHARD_SHARD_H
/**
 * @file shard.h
 * One shard file: a header, the JPEG bytes, an index and a table of names.  doc/FORMAT describes
 * every byte; little-endian; checksums are XXH3 (64 bits).
 *
 * Flow, writing:  tc_shard_create() -> tc_shard_append() … (-> tc_shard_relabel())
 *                 (-> tc_shard_seal()) -> tc_shard_finish() (sync, rename)
 *                 or tc_shard_abandon(), or tc_shard_leave() for later: tc_shard_leftover_open()
 *                 … -> tc_shard_resume() -> tc_shard_adopt() … -> tc_shard_append() …
 * Flow, reading:  tc_shard_open() -> tc_shard_entry_at(), tc_shard_read() … -> tc_shard_close()
 * Used by: store, data-prep.
 */
#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

#define TC_SHARD_MAGIC "TRICOLOR"
#define TC_SHARD_VERSION 1

/** What the index says of one record. */
typedef struct {
    uint64_t offset, bytes; /* of the JPEG, from the start of the file */
    uint64_t checksum;      /* XXH3 of the JPEG */
    int32_t label;
    uint32_t width, height;
    const char *name;       /* "class/picture.jpg", unique in the set; owned by the reader */
} tc_shard_entry;

typedef struct tc_shard_writer tc_shard_writer;
typedef struct tc_shard tc_shard;

/** Create path.tmp; tc_shard_finish() renames it to @p path.  @retval TC_IO, TC_NOMEM */
tc_status tc_shard_create(const char *path, uint32_t index, tc_shard_writer **writer_p);
/** Append one record (bytes are copied out; name too).  @p entry gives label, width, height, name;
 *  its offset, bytes and checksum are ignored. */
tc_status tc_shard_append(tc_shard_writer *writer, const tc_shard_entry *entry, const void *data,
                          size_t bytes);
/** Replace label l of every record so far by map[l] (the order of the classes is known last).
 *  @retval TC_INVAL  a label outside 0 <= l < count. */
tc_status tc_shard_relabel(tc_shard_writer *writer, const int32_t *map, int64_t count);
uint64_t tc_shard_count(const tc_shard_writer *writer);
uint64_t tc_shard_bytes(const tc_shard_writer *writer); /* of the data so far */
/** Write index, names and header, and fsync, still under the temporary name: what can fail for want
 *  of room does so here.  Nothing can be appended any more. */
tc_status tc_shard_seal(tc_shard_writer *writer);
/** Seal, if it is not yet, and rename.  Frees the writer, also on failure. */
tc_status tc_shard_finish(tc_shard_writer *writer);
/** Remove the temporary file.  NULL accepted. */
void tc_shard_abandon(tc_shard_writer *writer);
/** Write what is buffered to the file, without a sync.  @retval TC_IO */
tc_status tc_shard_flush(tc_shard_writer *writer);
/** Let the temporary file stay, for tc_shard_resume().  NULL accepted. */
void tc_shard_leave(tc_shard_writer *writer);

/** What a writer that did not finish left of the data of shard @p path. */
typedef struct tc_shard_leftover tc_shard_leftover;
/** *leftover_p is NULL where there is nothing.  A shard that was renamed already while its set was
 *  not finished gets its temporary name back.  @retval TC_NOMEM, TC_IO */
tc_status tc_shard_leftover_open(const char *path, tc_shard_leftover **leftover_p);
/** Read bytes [offset, offset + bytes) of the data; false: they are not there. */
bool tc_shard_leftover_read(const tc_shard_leftover *leftover, uint64_t offset, void *data,
                            size_t bytes);
void tc_shard_leftover_close(tc_shard_leftover *leftover); /* NULL accepted */

/** Go on writing path.tmp behind its first @p bytes bytes of data; what is behind them is cut off.
 *  Their records have to be given by tc_shard_adopt() before others are appended.
 *  @retval TC_IO, TC_NOMEM */
tc_status tc_shard_resume(const char *path, uint32_t index, uint64_t bytes,
                          tc_shard_writer **writer_p);
/** As tc_shard_append() of a record whose data is there already: entry's bytes and checksum count,
 *  its offset is ignored.  @retval TC_INVAL  more than is there. */
tc_status tc_shard_adopt(tc_shard_writer *writer, const tc_shard_entry *entry);

/**
 * Open a shard; reads and checks header, index and names.
 * @retval TC_IO      with errno's text.
 * @retval TC_FORMAT  not a shard, another version, truncated, checksum of header or index wrong,
 *                    an entry outside the file: each named, with the remedy.
 */
tc_status tc_shard_open(const char *path, tc_shard **shard_p);
void tc_shard_close(tc_shard *shard); /* NULL accepted */
uint64_t tc_shard_records(const tc_shard *shard);
uint32_t tc_shard_number(const tc_shard *shard); /* of this shard in its set */
const char *tc_shard_path(const tc_shard *shard);
/** Entry i < records; a view owned by the shard. */
const tc_shard_entry *tc_shard_entry_at(const tc_shard *shard, uint64_t i);
/**
 * Read record i into @p buffer (replaced) and verify its checksum.  Thread-safe: yes (pread), with
 * different buffers.   @retval TC_IO, TC_FORMAT (names file and record), TC_NOMEM
 */
tc_status tc_shard_read(const tc_shard *shard, uint64_t i, tc_buffer *buffer);
/** Read bytes [offset, offset + bytes) of the file, without a check (large sequential loads). */
tc_status tc_shard_read_range(const tc_shard *shard, uint64_t offset, void *data, size_t bytes);
/**
 * Open a shard without its index, for who needs few of its records: checks the header alone.  Then
 * entries come by tc_shard_fetch_entry(), data by tc_shard_read_range(); tc_shard_entry_at(),
 * tc_shard_read() and tc_shard_check() need tc_shard_open().   @retval as tc_shard_open()
 */
tc_status tc_shard_open_bare(const char *path, tc_shard **shard_p);
/**
 * Read entry i < records from the file: one pread, and one more for the name.  What the checksum of
 * the index says is not looked at.  Thread-safe: yes.
 *
 * @param[out] entry  its name is NULL.
 * @param[out] name   (size) cut to fit; size 0: not wanted.
 * @retval TC_IO, TC_FORMAT  the entry points outside of the file.
 */
tc_status tc_shard_fetch_entry(const tc_shard *shard, uint64_t i, tc_shard_entry *entry,
                               char *name, size_t size);
/** The same for entries [i, i + count), in long reads and without names. */
tc_status tc_shard_fetch_entries(const tc_shard *shard, uint64_t i, uint64_t count,
                                 tc_shard_entry *entries);
/** Tell the kernel that these bytes of the file will be read soon.  Thread-safe: yes. */
void tc_shard_advise(const tc_shard *shard, uint64_t offset, uint64_t bytes);
/** Verify the checksum of data read with tc_shard_read_range().  @retval TC_FORMAT */
tc_status tc_shard_check(const tc_shard *shard, uint64_t i, const void *data);

#endif
