/* The words of tricolor-allreduce's command line that need reading. */
#include <config.h>

#include "app/allreduce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OMPI_ALGORITHMS 6

static tc_status add(const char *text, int window, tc_candidate *candidate, int *n_p)
{
    tc_candidate *c = &candidate[*n_p];

    if (*n_p == MAX_CANDIDATES)
        return tc_fail(TC_INVAL, "--algorithms: more than %d", MAX_CANDIDATES);
    snprintf(c->text, sizeof c->text, "%s", text);
    tc_status status = tc_allreduce_spec_parse(text, &c->spec);
    if (status != TC_OK)
        return status;
    if (c->spec.options.window == 0)
        c->spec.options.window = window;
    ++*n_p;
    return TC_OK;
}

/* "mpi:all": MPI's own choice and each of Open MPI's algorithms. */
static tc_status add_peers(tc_candidate *candidate, int *n_p)
{
    tc_status status = add("mpi", 0, candidate, n_p);

    for (int a = 1; a <= OMPI_ALGORITHMS && status == TC_OK; a++) {
        char text[SPEC_SIZE];
        snprintf(text, sizeof text, "mpi:algorithm=%d", a);
        status = add(text, 0, candidate, n_p);
    }
    return status;
}

tc_status tc_bench_read_list(const char *list, int window, tc_candidate *candidate, int *n_p)
{
    char text[SPEC_SIZE];
    tc_status status = TC_OK;

    *n_p = 0;
    while (status == TC_OK) {
        status = tc_allreduce_spec_cut(&list, text, sizeof text);
        if (status != TC_OK || text[0] == '\0')
            break;
        if (strcmp(text, "mpi:all") == 0)
            status = add_peers(candidate, n_p);
        else if (strcmp(text, "all") == 0)
            for (int i = 0; tc_allreduce_name(i) != NULL && status == TC_OK; i++)
                status = add(tc_allreduce_name(i), window, candidate, n_p);
        else
            status = add(text, window, candidate, n_p);
    }
    if (status == TC_OK && *n_p == 0)
        status = tc_fail(TC_INVAL, "--algorithms: name at least one");
    return status;
}

tc_status tc_bench_read_bandwidth(const char *text, tc_bench_options *options)
{
    static const struct {
        const char *unit;
        double bytes;
    } known[] = { { "bit", 0.125 },  { "kbit", 125.0 }, { "Mbit", 125e3 }, { "mbit", 125e3 },
                  { "Gbit", 125e6 }, { "gbit", 125e6 }, { "B", 1.0 },      { "kB", 1e3 },
                  { "MB", 1e6 },     { "GB", 1e9 } };
    char *end;
    double value = strtod(text, &end);

    options->measure_if_spread = false;
    options->bandwidth = strcmp(text, "none") == 0 ? 0.0 : -1.0;
    if (strcmp(text, "none") == 0 || strcmp(text, "measure") == 0)
        return TC_OK;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (end != text && strcmp(end, known[i].unit) == 0 && isfinite(value) && value > 0.0) {
            options->bandwidth = value * known[i].bytes;
            return TC_OK;
        }
    return tc_fail(TC_INVAL,
                   "--bandwidth: '%s' is not a rate; it may be: none, measure, or a number with "
                   "kB, MB, GB, kbit, Mbit, Gbit (a second and way)",
                   text);
}
