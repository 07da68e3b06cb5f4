#include <config.h>

#include "train/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "nn/model.h"

#include <string.h>

/* The one line of results, on stdout. */
static void print_result(const tc_run *run, double seconds)
{
    const tc_sums *e = &run->eval;

    if (run->rank != 0)
        return;
    printf("%s", run->opt->model);
    if (!run->opt->evaluate_only)
        printf(" step %lld/%lld", (long long)run->state.step, (long long)run->total_steps);
    if (e->count > 0.0)
        printf(" top1 %.4f top5 %.4f eval_loss %.4f eval_samples %.0f", e->top1 / e->count,
               e->top5 / e->count, e->loss / e->count, e->count);
    if (run->epoch.count > 0.0)
        printf(" train_loss %.4f images/s %.1f", run->epoch.loss / run->epoch.count,
               run->throughput);
    printf(" seconds %.1f%s\n", seconds, run->stop ? " stopped" : "");
    fflush(stdout);
}

/* End the log; a log that could not be written is a failure of its own. */
static tc_status end_log(tc_run *run, tc_status status)
{
    char text[1024];

    strncpy(text, tc_error_detail(), sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tc_events_stop(run, status);
    tc_status closed = tc_mllog_close(run->log);
    tc_status dumped = tc_dumps_close(run);
    if (status != TC_OK) /* keep the first cause */
        return tc_fail(status, "%s", text);
    return tc_run_agree(run, closed != TC_OK ? closed : dumped);
}

/*
 * What all ranks have met (a folder that is missing) shall be said once, not by each: a rank whose
 * text a lower one has too hands over as TC_PEER, which tc_exit() leaves to that one (a loss that
 * is not finite has a text of its own on every rank, and one will do).  Every rank is here with a
 * failure; only fatal ones are not, and those end the job.
 */
static tc_status say_once(tc_run *run, tc_status status)
{
    struct cause {
        int32_t status;
        char text[1024];
    } mine = { .status = status }, *all = NULL;

    if (tc_alloc(run->ranks, sizeof *all, "causes", &all) != TC_OK)
        return status;
    strncpy(mine.text, tc_error_detail(), sizeof mine.text - 1);
    if (tc_comm_allgather(run->comm, &mine, sizeof mine, all) == TC_OK)
        for (int r = 0; status != TC_PEER && r < run->rank; r++)
            if (all[r].status == mine.status &&
                (status == TC_NUMERIC || strcmp(all[r].text, mine.text) == 0))
                status = tc_fail(TC_PEER, "rank %d: %s", r, mine.text);
    tc_free(all);
    return status == TC_PEER ? status : tc_fail(status, "%s", mine.text);
}

tc_status tc_train_run(tc_comm *comm, const tc_train_options *options)
{
    tc_run run = {
        .comm = comm, .opt = options, .rank = tc_comm_rank(comm), .ranks = tc_comm_size(comm)
    };
    double start = tc_now();
    tc_status status = tc_run_set_up(&run);

    if (status == TC_OK) {
        tc_events_start(&run);
        status = options->evaluate_only ? tc_run_evaluate(&run, true) : tc_run_train(&run);
        if (status == TC_OK && options->evaluate_only)
            tc_events_eval(&run, 0);
    }
    status = end_log(&run, status);
    if (status == TC_OK)
        print_result(&run, tc_now() - start);
    if (status != TC_OK && !TC_STATUS_IS_FATAL(status))
        status = say_once(&run, status);
    tc_run_tear_down(&run);
    return status;
}

tc_status tc_train_describe(const tc_train_options *options, void *stream)
{
    tc_model_options model = tc_train_model(options, 1000);
    tc_dataset *set = NULL;
    tc_graph *graph = NULL;
    tc_status status = TC_OK;

    if (options->data != NULL)
        status = tc_dataset_read(options->data, "train", &set);
    if (status == TC_OK && set != NULL)
        model.classes = set->n_classes;
    if (status == TC_OK)
        status = tc_model_build(&model, &graph);
    if (status == TC_OK)
        tc_graph_describe(graph, stream);
    tc_graph_free(graph);
    tc_dataset_free(set);
    return status;
}
