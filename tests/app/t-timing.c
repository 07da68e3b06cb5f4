/* The checker of sums finds what it must; numbers that people type; specs. */
#include <config.h>

#include "allreduce/spec.h"
#include "base/mem.h"
#include "base/parse.h"
#include "comm/comm.h"
#include "timing/timing.h"

#include "../tap-mpi.h"
#include <math.h>
#include <string.h>

enum { COUNT = 200003 };

/* The right sum, in the order of the ranks. */
static void sum_right(const tc_known *known, tc_comm *comm, float *x)
{
    double *sum = NULL;

    tc_known_fill(known, x, COUNT);
    if (tc_alloc(COUNT, sizeof *sum, "sum", &sum) != TC_OK)
        return;
    for (int i = 0; i < COUNT; i++)
        sum[i] = x[i];
    if (tc_comm_sum(comm, sum, COUNT) == TC_OK)
        for (int i = 0; i < COUNT; i++)
            x[i] = (float)sum[i];
    tc_free(sum);
}

static int64_t check(const tc_known *known, const float *x)
{
    int64_t wrong = -1;

    return tc_known_check(known, x, COUNT, 0x1p-24, &wrong) == TC_OK ? wrong : -1;
}

static void test_known(tc_comm *comm)
{
    bool last = tc_comm_rank(comm) == tc_comm_size(comm) - 1, many = tc_comm_size(comm) > 1;
    tc_known *known = NULL;
    float *x = NULL, kept;

    bool made =
        tc_known_create(comm, &known) == TC_OK && tc_alloc(COUNT, sizeof *x, "vector", &x) == TC_OK;
    if (!tap_ok_all(made, "create"))
        return;
    sum_right(known, comm, x);
    tap_ok_all(check(known, x) == 0, "the right sum is right");
    kept = x[COUNT - 1];
    x[COUNT - 1] = nextafterf(kept, 9.0f);
    tap_ok_all(check(known, x) == 0, "the last bit is rounding where all ranks have it");
    x[COUNT - 1] = last ? kept : nextafterf(kept, 9.0f);
    tap_ok_all(check(known, x) == (many ? 1 : 0), "but not where one rank lacks it");
    x[COUNT - 1] = NAN;
    tap_ok_all(check(known, x) == 1, "NaN is wrong");
    x[COUNT - 1] = kept;
    x[7] += 0.001f;
    tap_ok_all(check(known, x) == 1, "a wrong element");
    x[7] -= 0.001f;
    memmove(x, x + 1, (COUNT - 1) * sizeof *x);
    tap_ok_all(check(known, x) > COUNT - 200, "everything in the wrong place");
    tc_known_fill(known, x, COUNT);
    tap_ok_all(!many || check(known, x) > COUNT - 200, "nothing summed");
    tc_known_destroy(known);
    tc_known_destroy(NULL);
    tc_free(x);
}

typedef struct {
    int calls[3];
    int order[64], n;
} counter;

static tc_status count_call(void *arg, int i)
{
    counter *c = arg;

    c->calls[i]++;
    c->order[c->n++] = i;
    return i < 2 || c->n < 12 ? TC_OK : tc_fail(TC_INVAL, "enough");
}

static void test_turns(tc_comm *comm)
{
    counter c = { .n = 0 };
    tc_timing timing[3];

    tc_status status = tc_timing_turns(comm, 3, 1, 2, count_call, &c, timing);
    tap_ok_all(status == TC_OK && c.calls[0] == 3 && c.calls[1] == 3 && c.calls[2] == 3,
               "warm-up and rounds");
    tap_ok_all(c.order[0] != c.order[3] && c.order[3] != c.order[6], "another begins each round");
    tap_ok_all(timing[1].least <= timing[1].median && timing[1].median <= timing[1].most &&
                   timing[1].least >= 0.0,
               "medians lie between the extremes");
    status = tc_timing_turns(comm, 3, 0, 9, count_call, &c, timing);
    tap_ok_all(status == TC_INVAL, "a failure ends it");
    tap_ok_all(tc_timing_turns(comm, 0, 1, 2, count_call, &c, timing) == TC_OK, "no candidate");
}

static bool parses(const char *text, int64_t want)
{
    int64_t value = -77;
    tc_status status = tc_parse_size("x", text, 0, INT64_C(1) << 40, &value);

    return want < 0 ? status == TC_INVAL && value == -77 : status == TC_OK && value == want;
}

static bool becomes(const char *text, const char *want)
{
    tc_allreduce_spec spec;
    char out[160];

    if (tc_allreduce_spec_parse(text, &spec) != TC_OK)
        return want == NULL;
    tc_allreduce_spec_print(&spec, out, sizeof out);
    return want != NULL && strcmp(out, want) == 0;
}

static bool cuts(const char *list, const char *a, const char *b)
{
    char first[160] = "", second[160] = "", end[160] = "";

    return tc_allreduce_spec_cut(&list, first, sizeof first) == TC_OK &&
           tc_allreduce_spec_cut(&list, second, sizeof second) == TC_OK &&
           tc_allreduce_spec_cut(&list, end, sizeof end) == TC_OK && strcmp(first, a) == 0 &&
           strcmp(second, b) == 0 && end[0] == '\0';
}

static void test_words(void)
{
    const char *list = "multicolor";
    char small[5];

    tap_ok_all(parses("64K", 65536) && parses("7", 7) && parses("2MiB", 2 << 20) &&
                   parses("1G", 1 << 30),
               "sizes");
    tap_ok_all(parses("", -1) && parses("K", -1) && parses("1.5M", -1) && parses("-4", -1) &&
                   parses("9223372036854775807K", -1) && parses("2000G", -1) && parses("4KB", -1),
               "what is none");
    tap_ok_all(becomes("multicolor", "multicolor") &&
                   becomes("mpi:algorithm=4", "mpi:algorithm=4") &&
                   becomes("multicolor:arity=2,colors=3,chunk=64K,w=8",
                           "multicolor:k=3,d=2,chunk=65536,window=8") &&
                   becomes("multicolor:d=0", "multicolor:d=0") &&
                   becomes("ring:wire=f32,chunk=-1", "ring:chunk=-1") &&
                   becomes("ring:wire=bf16", "ring:wire=bf16"),
               "specs are read and written");
    tap_ok_all(becomes("", NULL) && becomes("multicolor:k", NULL) &&
                   becomes("multicolor:k=-1", NULL) && becomes("multicolor:algorithm=1", NULL) &&
                   becomes("multicolor:k=2,q=1", NULL) && becomes("ring:k=2", NULL) &&
                   becomes("ring:wire=f8", NULL) && becomes("mpi:wire=bf16", NULL),
               "what is none is refused");
    tap_ok_all(
        cuts("multicolor:k=4,d=4,mpi", "multicolor:k=4,d=4", "mpi") &&
            cuts(" mpi , multicolor:k=1,", "mpi", "multicolor:k=1") &&
            cuts("multicolor:k=1 multicolor:k=2,d=1", "multicolor:k=1", "multicolor:k=2,d=1") &&
            cuts(",", "", ""),
        "lists are cut");
    tap_ok_all(tc_allreduce_spec_cut(&list, small, sizeof small) == TC_INVAL, "a spec too long");
}

int main(int argc, char **argv)
{
    tc_comm *comm = NULL;
    double bandwidth = -1.0;

    if (tc_comm_init(&argc, &argv, &comm) != TC_OK)
        return tc_exit(comm, TC_MPI);
    test_known(comm);
    test_turns(comm);
    test_words();
    tc_status status = tc_timing_goodput(comm, &bandwidth);
    tap_ok_all(status == TC_OK && (tc_comm_size(comm) > 1 ? bandwidth > 1e6 : bandwidth == 0.0),
               "the links are measured");
    return tap_done_all();
}
