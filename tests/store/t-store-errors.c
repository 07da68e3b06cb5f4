/* What goes wrong is said by the rank that knows, and heard by all others; files of the baseline.
 */
#include <config.h>

#include "store/store.h"

#include "../tap-mpi.h"
#include "records.h"

#include <fcntl.h>

#define RECORDS 60

static tc_comm *world;
static int rank, last;
static char dir[64], other[80], path[256];

static tc_store_options options(const char *kind)
{
    return (tc_store_options){ .kind = kind,
                               .dir = dir,
                               .split = "train",
                               .groups = 1,
                               .devices = 1,
                               .batch = 4,
                               .shuffle = true,
                               .seed = 5 };
}

/* All ranks fail: `guilty` (-1: all) with `status` and `text`, the others by hearing of it. */
static void must_fail(const char *name, const tc_store_options *o, int guilty, tc_status status,
                      const char *text)
{
    tc_store *store = NULL;
    tc_status got = tc_store_open(world, o, 0, &store);
    bool mine = guilty < 0 || guilty == rank;

    bool ok = store == NULL && got == (mine ? status : TC_PEER) &&
              (!mine || strstr(tc_error_detail(), text) != NULL);
    if (!ok)
        fprintf(stderr, "# rank %d: %s: %s\n", rank, tc_strstatus(got), tc_error_detail());
    tap_ok_all(ok, "%s", name);
    tc_store_close(store);
}

static void wrong_options(void)
{
    tc_store_options o = options("shelf");

    must_fail("an unknown kind", &o, -1, TC_INVAL, "shelf");
    o = options("memory");
    o.groups = last + 2;
    must_fail("groups that do not divide the ranks", &o, -1, TC_INVAL, "--store-groups");
    o = options("memory");
    o.memory_limit = 4096;
    must_fail("too little memory", &o, -1, TC_NOMEM, "--store shards");
    o.memory_limit = rank == last ? 4096 : 0;
    must_fail("too little memory in one rank", &o, last, TC_NOMEM, "--store shards");
    o = options("memory");
    o.split = "test";
    must_fail("a split that is not there", &o, -1, TC_IO, "test");
    o = options("files");
    must_fail("no folder of files", &o, -1, TC_IO, "tricolor-pack extract");
}

/* Rank 0 makes other/train, as dir/train but for its last shard. */
static void copy_set(void)
{
    char command[512];

    snprintf(other, sizeof other, "%s/other", dir);
    snprintf(command, sizeof command, "mkdir -p '%s' && cp -r '%s/train' '%s'", other, dir, other);
    if (rank == 0 && system(command) != 0)
        fprintf(stderr, "# cannot copy\n");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_rank_without(void)
{
    tc_store_options o = options("memory");

    copy_set();
    snprintf(path, sizeof path, "%s/train/00002.shard", other);
    if (rank == last)
        o.dir = other;
    if (rank == last && unlink(path) != 0)
        fprintf(stderr, "# cannot unlink %s\n", path);
    must_fail("one rank without its shard", &o, last, TC_IO, "00002.shard");

    copy_set();
    if (rank == last) { /* the last record's last byte: just before the index */
        uint8_t byte = 0;
        tc_shard *shard = NULL;
        if (tc_shard_open(path, &shard) != TC_OK)
            return;
        const tc_shard_entry *entry = tc_shard_entry_at(shard, tc_shard_records(shard) - 1);
        off_t at = (off_t)(entry->offset + entry->bytes - 1);
        int fd = open(path, O_RDWR);
        bool ok = pread(fd, &byte, 1, at) == 1;
        byte ^= 0x40;
        ok = ok && pwrite(fd, &byte, 1, at) == 1;
        if (!ok)
            fprintf(stderr, "# cannot damage %s\n", path);
        close(fd);
        tc_shard_close(shard);
    }
    must_fail("one rank with a damaged record", &o, last, TC_FORMAT, "odd/59.jpg");

    const uint64_t counts[] = { 10, 10, 11 };
    char command[512];
    snprintf(command, sizeof command, "rm -r '%s/train'", other);
    tc_status status = TC_OK;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && system(command) == 0)
        status = set_write(other, "train", counts, 3, record_make);
    MPI_Barrier(MPI_COMM_WORLD);
    if (last > 0)
        must_fail("one rank with another data set", &o, last, TC_INVAL, "rank 0");
    tap_ok_all(status == TC_OK, "another data set is written");
}

/* Write record id as a file of the baseline, with `bytes` changed by `delta`. */
static bool write_file(uint64_t id, int delta, int flip)
{
    tc_buffer data = { 0 };
    char file[256];

    snprintf(file, sizeof file, "%s/train/files/%s/%llu.jpg", dir, id % 2 ? "odd" : "even",
             (unsigned long long)id);
    record_fill(id, &data);
    tc_buffer_append(&data, "x", 1);
    data.data[0] ^= (uint8_t)flip;
    FILE *f = fopen(file, "wb");
    bool ok = f != NULL && fwrite(data.data, data.bytes - 1 + (size_t)delta, 1, f) == 1;
    ok = f != NULL && fclose(f) == 0 && ok;
    tc_buffer_free(&data);
    return ok;
}

static bool write_files(void)
{
    char command[512];
    bool ok = true;

    snprintf(command, sizeof command, "mkdir -p '%s/train/files/odd' '%s/train/files/even'", dir,
             dir);
    if (rank == 0)
        ok = system(command) == 0;
    for (uint64_t id = 0; rank == 0 && ok && id < RECORDS; id++)
        ok = write_file(id, 0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    return ok;
}

/* Positions at which the two stores differ, over some epochs. */
static int64_t differences(tc_store *memory, tc_store *files)
{
    tc_buffer s = { 0 }, t = { 0 };
    tc_record a, b;
    int64_t wrong = 0;

    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        wrong += tc_store_begin_epoch(memory, epoch) != TC_OK ||
                 tc_store_begin_epoch(files, epoch) != TC_OK;
        for (uint64_t p = 0; p < RECORDS; p++) {
            wrong += tc_store_holds(memory, p) != tc_store_holds(files, p);
            if (!tc_store_holds(memory, p))
                continue;
            wrong += tc_store_borrow(memory, p, &s, &a) != TC_OK ||
                     tc_store_borrow(files, p, &t, &b) != TC_OK || a.id != b.id ||
                     a.label != b.label || a.bytes != b.bytes ||
                     memcmp(a.data, b.data, a.bytes) != 0;
        }
    }
    tc_buffer_free(&s);
    tc_buffer_free(&t);
    return wrong;
}

/* Borrow record `id` from a files store where this rank holds it; true where it does not. */
static bool borrow_fails(tc_store *files, uint64_t id, tc_status status, const char *text)
{
    tc_buffer scratch = { 0 };
    tc_record rec;
    bool ok = true;

    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t p = 0; p < RECORDS; p++)
        if (tc_store_id(files, p) == id && tc_store_holds(files, p))
            ok = tc_store_borrow(files, p, &scratch, &rec) == status &&
                 strstr(tc_error_detail(), text) != NULL;
    tc_buffer_free(&scratch);
    MPI_Barrier(MPI_COMM_WORLD);
    return ok;
}

static void files_kind(void)
{
    tc_store_options o = options("memory"), p = options("files");
    tc_store *memory = NULL, *files = NULL;
    bool ok = write_files();

    ok = tc_store_open(world, &o, 0, &memory) == TC_OK &&
         tc_store_open(world, &p, 0, &files) == TC_OK && ok;
    if (!tap_ok_all(ok, "a store of files: %s", ok ? tc_store_choices(files) : tc_error_detail()))
        return;
    tap_ok_all(differences(memory, files) == 0, "memory and files give the same bytes");

    if (rank == 0) {
        snprintf(path, sizeof path, "%s/train/files/odd/17.jpg", dir);
        ok = unlink(path) == 0 && write_file(18, -1, 0) && write_file(19, 1, 0) &&
             write_file(20, 0, 1);
    }
    tap_ok_all(ok, "some files are spoilt");
    tap_ok_all(borrow_fails(files, 17, TC_IO, "odd/17.jpg"), "a missing file is named");
    tap_ok_all(borrow_fails(files, 18, TC_FORMAT, "even/18.jpg"), "a short file is named");
    tap_ok_all(borrow_fails(files, 19, TC_FORMAT, "odd/19.jpg"), "a long file is named");
    tap_ok_all(borrow_fails(files, 20, TC_FORMAT, "record 20 (even/20.jpg)"),
               "a file of other bytes is named, with its record");
    tc_store_close(memory);
    tc_store_close(files);
    tc_store_close(NULL);
}

int main(int argc, char **argv)
{
    const uint64_t counts[] = { 20, 20, 20 };
    tc_status status = TC_OK;

    if (tc_comm_init(&argc, &argv, &world) != TC_OK)
        return 1;
    rank = tc_comm_rank(world);
    last = tc_comm_size(world) - 1;
    snprintf(dir, sizeof dir, "t-store-errors.XXXXXX");
    if (rank == 0) {
        if (mkdtemp(dir) == NULL)
            status = tc_fail(TC_IO, "no folder");
        if (status == TC_OK)
            status = set_write(dir, "train", counts, 3, record_make);
    }
    tc_comm_bcast(world, dir, sizeof dir, 0);
    if (tap_ok_all(tc_comm_agree(world, status) == TC_OK, "a data set is written")) {
        wrong_options();
        one_rank_without();
        files_kind();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        set_remove(dir);
    return tap_done_all();
}
