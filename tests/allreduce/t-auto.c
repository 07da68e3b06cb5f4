/* `auto`: the same choice on all ranks, right sums, what the cache keeps and what it refuses. */
#include <config.h>

#include "allreduce/allreduce.h"
#include "base/mem.h"

#include "../tap-mpi.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4, LINE = 1024, LINES = 16 };
static const int64_t counts[N] = { 20000, 0, 300, 19000 }; /* three classes, one of them empty */

static int rank, size;
static char path[256];
static char line[LINES][LINE]; /* of the file, on rank 0 */

static tc_status create(tc_comm *comm, tc_allreduce_options options, tc_allreduce **ctx_p)
{
    *ctx_p = NULL;
    options.algorithm = "auto";
    return tc_allreduce_create(comm, &options, N, counts, ctx_p);
}

static bool sums_are_exact(tc_allreduce *ctx)
{
    bool good = true;

    for (int b = 0; b < N; b++) {
        float *x = NULL;
        if (tc_alloc(counts[b], sizeof *x, "bucket", &x) != TC_OK)
            return false;
        for (int64_t i = 0; i < counts[b]; i++)
            x[i] = (float)(i % 7 + rank);
        good = tc_allreduce_run(ctx, b, x) == TC_OK && good;
        for (int64_t i = 0; i < counts[b]; i++)
            good = good && x[i] == (float)((i % 7) * size + size * (size - 1) / 2);
        tc_free(x);
    }
    return good;
}

static bool all_chose_the_same(tc_comm *comm, const tc_allreduce *ctx)
{
    char mine[LINE] = "", first[LINE];

    snprintf(mine, sizeof mine, "%s", tc_allreduce_choices(ctx));
    if (strstr(mine, " memory=") != NULL) /* every rank's own */
        strstr(mine, " memory=")[0] = '\0';
    memcpy(first, mine, sizeof first);
    return tc_comm_bcast(comm, first, sizeof first, 0) == TC_OK && strcmp(first, mine) == 0;
}

static int read_lines(void)
{
    FILE *file = fopen(path, "r");
    int n = 0;

    while (file != NULL && n < LINES && fgets(line[n], LINE, file) != NULL)
        n++;
    if (file != NULL)
        fclose(file);
    return n;
}

static void write_lines(int n)
{
    FILE *file = fopen(path, "w");

    for (int i = 0; file != NULL && i < n; i++)
        fputs(line[i], file);
    if (file != NULL)
        fclose(file);
}

static void test_choice(tc_comm *comm, tc_allreduce_options options)
{
    tc_allreduce *ctx;
    tc_status status = create(comm, options, &ctx);

    if (!tap_ok_all(status == TC_OK, "create"))
        return;
    bool same = all_chose_the_same(comm, ctx), exact = sums_are_exact(ctx);
    tap_ok_all(same && exact, "%s: the same on all ranks", tc_allreduce_choices(ctx));
    tap_ok_all(size == 1 || !options.overlapped || strstr(tc_allreduce_choices(ctx), "mpi") == NULL,
               "nothing that blocks where the sums shall overlap");
    tap_ok_all(tc_allreduce_of_bucket(ctx, 0).wire == options.wire, "on the wire that was wanted");
    tc_allreduce_destroy(ctx);
}

/* What the file says is taken: a line is changed to what would never win. */
static void test_cache(tc_comm *comm)
{
    const tc_allreduce_options options = { .cache = path };
    tc_allreduce *ctx;
    bool good = create(comm, options, &ctx) == TC_OK;
    int n = rank == 0 ? read_lines() : 0;

    tap_ok_all(good && (rank > 0 || n == 3), "a line for each class, one for the head");
    tc_allreduce_destroy(ctx);
    if (rank == 0) {
        char *choice = strstr(line[1], " choice=");
        if (choice != NULL)
            strcpy(choice, " choice=multicolor:k=2,d=1,chunk=104,window=3\n");
        snprintf(line[n++], LINE, "tricolor=0.0.1 ranks=1000 choice=magic\n");
        write_lines(n);
    }
    good = create(comm, options, &ctx) == TC_OK;
    const char *said = good ? tc_allreduce_choices(ctx) : "";
    tap_ok_all(good && strstr(said, "multicolor k=2 d=1 chunk=104 window=3 [0] [3]") != NULL,
               "the cache is believed: %s", said);
    tc_allreduce_destroy(ctx);

    /* Another wire is another choice; the others stay, those of another version, too. */
    good =
        create(comm, (tc_allreduce_options){ .cache = path, .wire = TC_WIRE_F16 }, &ctx) == TC_OK;
    n = rank == 0 ? read_lines() : 0;
    tap_ok_all(good && (rank > 0 || (n == 6 && strstr(line[1], "chunk=104") != NULL &&
                                     strstr(line[3], "ranks=1000") != NULL)),
               "the lines of others stay");
    tc_allreduce_destroy(ctx);
}

static void refused(tc_comm *comm, const char *what, tc_status expected, const char *text)
{
    const tc_allreduce_options options = { .cache = path };
    tc_allreduce *ctx;
    tc_status status = create(comm, options, &ctx);

    tap_ok_all(ctx == NULL && (rank > 0 ? status == TC_PEER : status == expected) &&
                   strstr(tc_error_detail(), text) != NULL,
               "refused: %s", what);
    tc_allreduce_destroy(ctx);
}

static void test_broken(tc_comm *comm)
{
    if (rank == 0) {
        read_lines();
        strcpy(strstr(line[2], " choice="), "\n");
        write_lines(3);
    }
    refused(comm, "a line without a choice", TC_FORMAT, "line 3 is not a choice");
    if (rank == 0) {
        strcpy(strstr(line[1], " choice="), " choice=magic\n");
        write_lines(2);
    }
    refused(comm, "a choice that is none", TC_FORMAT, "choice=magic: no allreduce");
    if (rank == 0) {
        strcpy(line[0], "precious text\n");
        write_lines(1);
    }
    refused(comm, "another file", TC_FORMAT, "line 1 is not a choice");
    tap_ok_all(rank > 0 || (read_lines() == 1 && strcmp(line[0], "precious text\n") == 0),
               "which stays as it was");
    strcpy(path, "/no/such/folder/choices");
    refused(comm, "a file that cannot be written", TC_IO, "cannot be");
}

int main(int argc, char **argv)
{
    tc_comm *comm = NULL;
    tc_status status = tc_comm_init(&argc, &argv, &comm);

    if (status != TC_OK)
        return tc_exit(comm, status);
    rank = tc_comm_rank(comm);
    size = tc_comm_size(comm);
    test_choice(comm, (tc_allreduce_options){ .wire = TC_WIRE_F32 });
    test_choice(comm, (tc_allreduce_options){ .overlapped = true });
    test_choice(comm, (tc_allreduce_options){ .wire = TC_WIRE_BF16 });
    snprintf(path, sizeof path, "t-auto.%d.%ld.tmp", size, (long)getpid());
    tc_comm_bcast(comm, path, sizeof path, 0);
    if (size > 1) { /* a single rank has nothing to measure */
        test_cache(comm);
        char kept[256];
        strcpy(kept, path);
        test_broken(comm);
        if (rank == 0)
            remove(kept);
    }
    tc_allreduce *ctx;
    int64_t differs = 100 + rank;
    tc_allreduce_options options = { .algorithm = "auto" };
    status = tc_allreduce_create(comm, &options, 1, &differs, &ctx);
    tap_ok_all(size == 1 || status == TC_INVAL, "sizes that differ are refused");
    if (size == 1)
        tc_allreduce_destroy(ctx);
    options.algorithm = rank == 0 ? "auto" : "ring";
    differs = 100;
    status = tc_allreduce_create(comm, &options, 1, &differs, &ctx);
    tap_ok_all(size == 1 || status == TC_INVAL, "algorithms that differ are refused");
    if (size == 1)
        tc_allreduce_destroy(ctx);
    return tap_done_all();
}
