/* A device of the last rank is lost in the second step; run by t-fatal.sh. */
#include <config.h>

#include "fakes.h"
#include "rig.h"

#include "allreduce/allreduce.h"
#include "comm/comm.h"

#include <string.h>

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "optimized";
    bool overlap = argc > 2 && strcmp(argv[2], "on") == 0;
    tc_allreduce_options how = { .algorithm = "multicolor", .arity = -1, .chunk = 512 };
    tc_table_options options;
    tc_allreduce *ctx = NULL;
    tc_comm *comm = NULL;
    tc_metrics sum;
    tc_status status;
    rig r;

    fake_reset();
    rig_graph(&r, fake_graph(), 100);
    status = tc_comm_init(&argc, &argv, &comm);
    if (status != TC_OK)
        return tc_exit(comm, status);
    if (tc_comm_rank(comm) == tc_comm_size(comm) - 1) {
        fake.train_call = fake.train_ordinal = 1;
        fake.train_status = TC_DEVICE;
    }
    status = tc_allreduce_create(comm, &how, r.n, r.count, &ctx);
    options = rig_options(&r, kind, 2, tc_comm_size(comm));
    options.allreduce = ctx;
    options.overlap = overlap;
    if (status == TC_OK)
        status = rig_open(&r, &options, tc_comm_rank(comm), tc_comm_size(comm), 1000);
    if (status == TC_OK)
        status = rig_train(&r, 0, &sum);
    return tc_exit(comm, status);
}
