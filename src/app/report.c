/* tricolor-report: read training logs, print tables. */
#include <config.h>

#include "base/log.h"
#include "report/report.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LOGS 4096

typedef struct {
    const char *published, *tsv;
    const char *log[MAX_LOGS];
    int n_logs;
} options;

enum { KEY_PUBLISHED = 256, KEY_TSV };

static const struct argp_option argp_options[] = {
    { "published", KEY_PUBLISHED, "DIR", 0,
      "Folder of the published tables, or `none' (default: $TRICOLOR_PUBLISHED, or the installed "
      "ones)",
      0 },
    { "tsv", KEY_TSV, "FILE", 0, "Also write every epoch as tab-separated values, for plots", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    options *opt = state->input;

    switch (key) {
    case KEY_PUBLISHED:
        opt->published = arg;
        return 0;
    case KEY_TSV:
        opt->tsv = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (opt->n_logs == MAX_LOGS)
            argp_error(state, "more than %d logs", MAX_LOGS);
        opt->log[opt->n_logs++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name at least one log that tricolor-train wrote with --log");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The folder to read published figures from, or NULL: leave them out. */
static const char *find_published(const char *given)
{
    const char *variable = getenv("TRICOLOR_PUBLISHED");

    if (given)
        return strcmp(given, "none") == 0 ? NULL : given;
    if (variable && *variable)
        return variable;
    if (access(PKGDATADIR "/published/results.tsv", R_OK) == 0)
        return PKGDATADIR "/published";
    tc_log(TC_LOG_WARN, "report",
           "no published figures in " PKGDATADIR "/published; name their folder by --published "
           "(experiments/published in the sources)");
    return NULL;
}

static tc_status write_tsv(const tc_report *report, const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return tc_fail(TC_IO, "%s: cannot write: %s", path, strerror(errno));
    tc_status status = tc_report_tsv(report, file);
    if (fclose(file) != 0 && status == TC_OK)
        status = tc_fail(TC_IO, "%s: cannot write: %s", path, strerror(errno));
    return status;
}

static tc_status run(const options *opt)
{
    tc_report *report = NULL;
    tc_status status = tc_report_create(&report);

    for (int i = 0; i < opt->n_logs && status == TC_OK; i++)
        status = tc_report_add(report, opt->log[i]);
    if (status == TC_OK)
        status = tc_report_print(report, find_published(opt->published), stdout);
    if (status == TC_OK && opt->tsv)
        status = write_tsv(report, opt->tsv);
    tc_report_free(report);
    return status;
}

int main(int argc, char **argv)
{
    static const struct argp parser = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "LOG...",
        .doc = "Read training logs; print epochs, accuracy, where the time went, the ablation of "
               "the three optimizations, and published results beside them.",
    };
    options opt = { 0 };

    argp_program_version = "tricolor-report " PACKAGE_VERSION;
    argp_err_exit_status = 2;
    argp_parse(&parser, argc, argv, 0, NULL, &opt);
    if (run(&opt) != TC_OK) {
        tc_log(TC_LOG_ERROR, "report", "%s", tc_error_detail());
        return 1;
    }
    return 0;
}
