#ifndef TC_REPORT_REPORT_H
#define TC_REPORT_REPORT_H
/**
 * @file report.h
 * Read training logs and print tables: epochs, where the time went, the ablation, and published
 * results beside them.  Says of every figure whether it is measured, simulated or published.
 *
 * Flow:  tc_report_add(log) … -> tc_report_print() -> tc_report_free().   Used by: app.
 */
#include "base/status.h"

typedef struct tc_report tc_report;

tc_status tc_report_create(tc_report **report_p);
void tc_report_free(tc_report *report);
/** Read one log; several runs in one file (a resumed run appends) are told apart.
 *  @retval TC_IO, TC_FORMAT (names file and line) */
tc_status tc_report_add(tc_report *report, const char *path);
/** @param published  Folder of the *.tsv tables, or NULL to leave them out.
 *  @param out        A FILE *. */
tc_status tc_report_print(tc_report *report, const char *published, void *out);
/** Every epoch of every run as tab-separated values with a heading, for a plot.  Numbers that the
 *  log does not have are NaN.   @param out  A FILE *.   @retval TC_IO */
tc_status tc_report_tsv(const tc_report *report, void *out);

#endif
