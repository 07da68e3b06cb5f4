/* Records read from the shards as needed: what happens to the files is said, with file and record,
 * and the other records stay readable; descriptors are bounded. */
#include <config.h>

#include "store/store.h"

#include "../tap.h"
#include "comm/comm.h"
#include "records.h"

#include <dirent.h>
#include <fcntl.h>

#define SHARDS  12
#define EACH    20
#define RECORDS (SHARDS * EACH)

static char dir[64], path[128];
static tc_comm *comm;

static tc_store *open_store(uint32_t open_shards)
{
    const tc_store_options o = { .kind = "shards",
                                 .dir = dir,
                                 .split = "train",
                                 .groups = 1,
                                 .devices = 1,
                                 .batch = 4,
                                 .shuffle = true,
                                 .open_shards = open_shards };
    tc_store *store = NULL;

    if (tc_store_open(comm, &o, 0, &store) != TC_OK)
        fprintf(stderr, "# %s\n", tc_error_detail());
    return store;
}

/* Descriptors that lead to shards. */
static int open_files(void)
{
    DIR *fds = opendir("/proc/self/fd");
    struct dirent *e;
    int n = 0;

    while (fds != NULL && (e = readdir(fds)) != NULL) {
        char target[512];
        ssize_t length = readlinkat(dirfd(fds), e->d_name, target, sizeof target - 1);
        if (length > 6)
            n += strncmp(target + length - 6, ".shard", 6) == 0;
    }
    if (fds != NULL)
        closedir(fds);
    return n;
}

/* What came of borrowing all records of an epoch. */
typedef struct {
    int good, wrong;        /* wrong: fails, or succeeds, where it must not */
    int files;              /* open at most */
    char text[SHARDS][512]; /* of a failure in each shard */
} outcome;

/* Records of shard `spoilt`, or only `record` of them where it is not negative, must fail. */
static void borrow_all(tc_store *store, uint64_t epoch, int spoilt, int record, tc_status status,
                       outcome *o)
{
    tc_buffer scratch = { 0 }, want = { 0 };
    tc_record rec;

    *o = (outcome){ 0 };
    o->wrong += tc_store_begin_epoch(store, epoch) != TC_OK;
    for (uint64_t p = 0; p < RECORDS; p++) {
        int id = (int)tc_store_id(store, p);
        bool bad = id / EACH == spoilt && (record < 0 || id % EACH == record);
        tc_status got = tc_store_borrow(store, p, &scratch, &rec);
        if (got == TC_OK) {
            record_fill((uint64_t)id, &want);
            o->wrong += bad || rec.id != (uint64_t)id || rec.bytes != want.bytes ||
                        memcmp(rec.data, want.data, want.bytes) != 0;
            o->good++;
        } else {
            char number[64];
            snprintf(o->text[id / EACH], sizeof o->text[0], "%s", tc_error_detail());
            snprintf(number, sizeof number, "record %d ", id % EACH);
            o->wrong += !bad || got != status || strstr(o->text[id / EACH], number) == NULL;
        }
        int files = open_files();
        o->files = files > o->files ? files : o->files;
    }
    tc_buffer_free(&scratch);
    tc_buffer_free(&want);
}

static void bounded(void)
{
    static const uint32_t most[] = { 1, 3, SHARDS };
    outcome o;

    for (size_t i = 0; i < sizeof most / sizeof most[0]; i++) {
        tc_store *store = open_store(most[i]);
        if (store == NULL)
            return;
        borrow_all(store, 1, -1, -1, TC_OK, &o);
        tap_ok(o.good == RECORDS && o.wrong == 0 && o.files >= 1 && o.files <= (int)most[i],
               "all records, with at most %u shards open: %d", most[i], o.files);
        tc_store_close(store);
    }
    tap_ok(open_files() == 0, "none stays open");
}

/* Change a file of the set, and back. */
static bool rename_shard(int shard, bool back)
{
    char away[160];

    snprintf(path, sizeof path, "%s/train/%05d.shard", dir, shard);
    snprintf(away, sizeof away, "%s.away", path);
    return back ? rename(away, path) == 0 : rename(path, away) == 0;
}

static bool flip_last_byte(int shard)
{
    tc_shard *open_shard = NULL;
    uint8_t byte = 0;

    snprintf(path, sizeof path, "%s/train/%05d.shard", dir, shard);
    if (tc_shard_open(path, &open_shard) != TC_OK)
        return false;
    const tc_shard_entry *entry = tc_shard_entry_at(open_shard, EACH - 1);
    off_t at = (off_t)(entry->offset + entry->bytes - 1);
    int fd = open(path, O_RDWR);
    bool ok = pread(fd, &byte, 1, at) == 1;
    byte ^= 0x40;
    ok = pwrite(fd, &byte, 1, at) == 1 && ok;
    close(fd);
    tc_shard_close(open_shard);
    return ok;
}

/* The outcome of a failure in one shard: all else is good, and the text has both parts. */
static void must_name(const char *name, const outcome *o, int good, const char *shard,
                      const char *text)
{
    int at = atoi(shard);
    bool ok = o->good == good && o->wrong == 0 && strstr(o->text[at], shard) != NULL &&
              strstr(o->text[at], text) != NULL;

    tap_ok(ok, "%s: %s", name, o->text[at]);
    if (!ok)
        fprintf(stderr, "# %d good, %d wrong\n", o->good, o->wrong);
}

static void damaged(void)
{
    tc_store *store = open_store(2);
    outcome o;

    if (store == NULL)
        return;
    borrow_all(store, 1, -1, -1, TC_OK, &o);
    bool ok = rename_shard(5, false);
    borrow_all(store, 2, 5, -1, TC_IO, &o);
    must_name("removed", &o, RECORDS - EACH, "00005.shard", "cannot open");
    ok = rename_shard(5, true) && ok;
    borrow_all(store, 3, -1, -1, TC_OK, &o);
    tap_ok(ok && o.good == RECORDS && o.wrong == 0, "put back: all records are read");

    ok = flip_last_byte(7);
    borrow_all(store, 4, 7, EACH - 1, TC_FORMAT, &o);
    must_name("a changed byte", &o, RECORDS - 1, "00007.shard", "checksum is wrong");
    tap_ok(strstr(o.text[7], "record 19 (odd/159.jpg)") != NULL, "... with the record's name");
    ok = flip_last_byte(7) && ok;
    tc_store_close(store);

    store = open_store(SHARDS); /* all stay open */
    if (store == NULL)
        return;
    borrow_all(store, 1, -1, -1, TC_OK, &o);
    snprintf(path, sizeof path, "%s/train/00009.shard", dir);
    ok = truncate(path, 0) == 0 && ok;
    borrow_all(store, 2, 9, -1, TC_IO, &o);
    must_name("cut while it is open", &o, RECORDS - EACH, "00009.shard", "cut while in use");
    tc_store_close(store);
    store = NULL;
    tap_ok(ok && open_store(2) == NULL && strstr(tc_error_detail(), "00009.shard") != NULL,
           "cut before: refused: %s", tc_error_detail());
}

int main(int argc, char **argv)
{
    uint64_t counts[SHARDS];

    if (tc_comm_init(&argc, &argv, &comm) != TC_OK)
        return 1;
    snprintf(dir, sizeof dir, "t-shards.XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    for (int s = 0; s < SHARDS; s++)
        counts[s] = EACH;
    if (tap_ok(set_write(dir, "train", counts, SHARDS, record_make) == TC_OK, "a set")) {
        bounded();
        damaged();
    }
    set_remove(dir);
    tap_done();
    return tc_exit(comm, TC_OK);
}
