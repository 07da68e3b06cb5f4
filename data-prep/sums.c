#include <config.h>

#include "data-prep/sums.h"

#include "data-prep/md5.h"
#include "data-prep/walk.h"

#include "base/log.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* As torchvision's ARCHIVE_META has them. */
static const struct {
    const char *split, *name, *sum;
} official[] = {
    { "train", "ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e" },
    { "val", "ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622" },
    { "devkit", "ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf" },
};

static tc_status compare(const char *what, const char *path, const char *given, const char *found)
{
    for (size_t i = 0; i < sizeof official / sizeof *official; i++) {
        if (strcmp(official[i].split, what) != 0)
            continue;
        const char *wanted = given != NULL ? given : official[i].sum;
        if (strcasecmp(found, wanted) != 0)
            return tc_fail(TC_FORMAT,
                           "%s: its MD5 is %s, %s%s has %s: damaged, or another file; copy it "
                           "again, or pack without --md5",
                           path, found, given != NULL ? "the one " : "the official ",
                           given != NULL ? "wanted" : official[i].name, wanted);
        tc_log(TC_LOG_INFO, "pack", "%s: its MD5 is %s, as %s%s", path, found,
               given != NULL ? "wanted" : "that of the official ",
               given != NULL ? "" : official[i].name);
    }
    return TC_OK;
}

tc_status tc_sums_begin(const tc_create_options *options)
{
    tc_buffer data = { 0 };
    char found[TC_MD5_TEXT];
    struct stat st;
    tc_md5 md5;

    if (!options->md5)
        return TC_OK;
    for (int i = 0; i < options->n_sources; i++)
        if (stat(options->sources[i], &st) == 0 && S_ISDIR(st.st_mode))
            return tc_fail(TC_INVAL, "%s: a folder has no MD5; --md5 is for archives",
                           options->sources[i]);
    if (options->devkit == NULL || options->sum != NULL ||
        (stat(options->devkit, &st) == 0 && S_ISDIR(st.st_mode)))
        return TC_OK;
    tc_status status = tc_read_file(options->devkit, &data);
    if (status == TC_OK) {
        tc_md5_start(&md5);
        tc_md5_add(&md5, data.data, data.bytes);
        tc_md5_text(&md5, found);
        status = compare("devkit", options->devkit, NULL, found);
    }
    tc_buffer_free(&data);
    return status;
}

tc_status tc_sums_check(const tc_create_options *options, const char *source, const char *found)
{
    /* What is held out for val comes from the training pictures. */
    const char *split = options->hold_out > 0 ? "train" : options->split;

    return compare(split, source, options->sum, found);
}
