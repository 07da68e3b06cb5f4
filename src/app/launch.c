#include <config.h>

#include "app/launch.h"

#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rank that a launcher has given this process, before MPI has started; 0 where none did. */
static long launched_rank(void)
{
    static const char *const variable[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID" };

    for (size_t i = 0; i < sizeof variable / sizeof variable[0]; i++) {
        const char *value = getenv(variable[i]);
        if (value != NULL)
            return strtol(value, NULL, 10);
    }
    return 0;
}

static bool asks_for_help(int argc, char **argv)
{
    static const char *const word[] = { "--help", "-?", "--usage", "--version", "-V" };

    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof word / sizeof word[0]; k++)
            if (strcmp(argv[i], word[k]) == 0)
                return true;
    return false;
}

int tc_app_read(const struct argp *argp, int argc, char **argv, void *arguments, const char *name,
                tc_status (*check)(void *arguments))
{
    bool silent = launched_rank() > 0;
    int rc;

    if (silent && asks_for_help(argc, argv))
        return 1;
    argp_err_exit_status = 2;
    rc = argp_parse(argp, argc, argv, silent ? ARGP_NO_EXIT | ARGP_NO_ERRS : 0, NULL, arguments);
    if (rc == 0 && check(arguments) == TC_OK)
        return 0;
    if (silent)
        tc_sleep_us(1000000); /* a launcher ends the others at the first exit: let rank 0 speak */
    else
        fprintf(stderr, "%s: %s\nTry '%s --help' for more information.\n", name, tc_error_detail(),
                name);
    return 3;
}
