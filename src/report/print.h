#ifndef TC_REPORT_PRINT_H
#define TC_REPORT_PRINT_H
/**
 * @file print.h
 * The parts of the report.  Private to this room.
 */
#include "report/run.h"

#include <stdio.h>

/** One run: what it was, its epochs, its accuracy, where the time went.  @param number  From 1. */
tc_status tc_print_run(const tc_run *run, int64_t number, FILE *out);

/**
 * The ablation of every group of runs that differ only in the toggles; nothing where no group has
 * two combinations.
 * @param published  Folder of ablation.tsv, or NULL.
 */
tc_status tc_print_ablation(const tc_runs *runs, const char *published, FILE *out);

/** The published results and throughputs, and our runs below them. */
tc_status tc_print_published(const tc_runs *runs, const char *published, FILE *out);

/** What the figures of a run are: "measured", "simulated", "synthetic", or "of unknown kind". */
const char *tc_run_kind(const tc_run *run);

/** The hardware of a run in words: "2 ranks x 1 device, onednn".  Thread-safe: yes. */
void tc_run_hardware(const tc_run *run, char *text, size_t size);

/** A duration in words: "12.3 s", "4.5 min", "1.2 h". */
void tc_duration(double seconds, char *text, size_t size);

#endif
