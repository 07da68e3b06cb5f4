/* What the store says it needs is what it takes: the limit that is just kept, against the peak. */
#include <config.h>

#include "store/store.h"

#include "../tap.h"
#include "set.h"

#include <sys/resource.h>
#include <sys/wait.h>

#define RECORDS 20000

static char dir[64];

/* Long and short records, between a third of a slot and three slots. */
static void make_record(uint64_t id, tc_shard_entry *entry, tc_buffer *data)
{
    static char name[64];

    snprintf(name, sizeof name, "even/ILSVRC2012_val_%08llu.JPEG", (unsigned long long)id);
    *entry = (tc_shard_entry){ .label = 0, .width = 32, .height = 32, .name = name };
    data->bytes = 0;
    if (tc_buffer_reserve(data, 6000) == TC_OK) {
        data->bytes = 700 + id * 37 % 5300;
        memset(data->data, (int)(id % 251), data->bytes);
    }
}

static double peak(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024.0;
}

static tc_status open_store(tc_comm *comm, double limit)
{
    tc_store_options o = { .kind = "memory",
                           .dir = dir,
                           .split = "train",
                           .groups = 1,
                           .devices = 1,
                           .batch = 4,
                           .memory_limit = (uint64_t)limit };
    tc_store *store = NULL;
    tc_status status = tc_store_open(comm, &o, 0, &store);

    tc_store_close(store);
    return status;
}

int main(int argc, char **argv)
{
    const uint64_t counts[] = { RECORDS };
    tc_comm *comm = NULL;
    int rc = 1;

    snprintf(dir, sizeof dir, "t-memory.XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    pid_t child = fork(); /* so that making the set does not count, and before MPI starts */
    if (child == 0)
        _exit(set_write(dir, "train", counts, 1, make_record) == TC_OK ? 0 : 1);
    tap_ok(child > 0 && waitpid(child, &rc, 0) == child && rc == 0, "a set is written");
    if (tc_comm_init(&argc, &argv, &comm) != TC_OK)
        return 1;
    double before = peak();
    tap_ok(open_store(comm, 0.0) == TC_OK, "it is loaded");
    double taken = peak() - before;
    tap_ok(open_store(comm, taken / 1.1) == TC_NOMEM, "1/1.1 of the %.1f MB taken is refused",
           taken / 1e6);
    tap_ok(open_store(comm, taken * 1.1) == TC_OK, "1.1 of it is enough");
    set_remove(dir);
    tap_done();
    return tc_exit(comm, TC_OK);
}
