#include <config.h>

#include "data-prep/devkit.h"

#if HAVE_MATIO

#include "data-prep/walk.h"

#include <errno.h>
#include <matio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Read the two files of the kit that are needed. */
static tc_status read_files(const char *path, tc_buffer *meta, tc_buffer *truth)
{
    tc_walk *walk = NULL;
    tc_walk_entry entry;
    bool end = false;

    meta->bytes = truth->bytes = 0;
    tc_status status = tc_walk_open(path, NULL, &walk);
    while (status == TC_OK && !end) {
        status = tc_walk_next(walk, &entry, &end);
        if (status != TC_OK || end || entry.kind != TC_MEMBER_FILE)
            continue;
        const char *slash = strrchr(entry.name, '/');
        const char *name = slash == NULL ? entry.name : slash + 1;
        if (strcmp(name, "meta.mat") == 0)
            status = tc_walk_read(walk, meta);
        else if (strcmp(name, "ILSVRC2012_validation_ground_truth.txt") == 0)
            status = tc_walk_read(walk, truth);
    }
    tc_walk_close(walk);
    if (status == TC_OK && (meta->bytes == 0 || truth->bytes == 0))
        status =
            tc_fail(TC_FORMAT,
                    "%s: it has no data/%s: not the development kit of ILSVRC2012 "
                    "(ILSVRC2012_devkit_t12.tar.gz)",
                    path, meta->bytes == 0 ? "meta.mat" : "ILSVRC2012_validation_ground_truth.txt");
    return status == TC_OK ? tc_buffer_append(truth, "", 1) : status;
}

static void be_quiet(int level, char *message)
{
    (void)level; /* what is wrong is said by the caller */
    (void)message;
}

/* libmatio reads files only: give the bytes one that has no name. */
static tc_status open_mat(const char *path, const tc_buffer *meta, int *fd_p, mat_t **mat_p)
{
    char name[64];
    int fd = memfd_create("meta.mat", MFD_CLOEXEC);

    if (fd < 0 || write(fd, meta->data, meta->bytes) != (ssize_t)meta->bytes) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return tc_fail(TC_IO, "%s: no room for meta.mat: %s", path, strerror(error));
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    Mat_LogInitFunc("tricolor-pack", be_quiet);
    mat_t *mat = Mat_Open(name, MAT_ACC_RDONLY);
    if (mat == NULL) {
        close(fd);
        return tc_fail(TC_FORMAT, "%s: meta.mat is no MAT file that libmatio can read", path);
    }
    *fd_p = fd;
    *mat_p = mat;
    return TC_OK;
}

/* A whole number in a field of row i; MATLAB stores it as whatever type holds it. */
static bool get_number(matvar_t *synsets, const char *field, size_t i, int64_t *value_p)
{
    const matvar_t *var = Mat_VarGetStructFieldByName(synsets, field, i);

    if (var == NULL || var->data == NULL || var->nbytes < (size_t)var->data_size ||
        var->data_size < 1)
        return false;
    switch (var->data_type) {
    case MAT_T_INT8:
        *value_p = *(const int8_t *)var->data;
        break;
    case MAT_T_UINT8:
        *value_p = *(const uint8_t *)var->data;
        break;
    case MAT_T_INT16:
        *value_p = *(const int16_t *)var->data;
        break;
    case MAT_T_UINT16:
        *value_p = *(const uint16_t *)var->data;
        break;
    case MAT_T_INT32:
        *value_p = *(const int32_t *)var->data;
        break;
    case MAT_T_UINT32:
        *value_p = *(const uint32_t *)var->data;
        break;
    case MAT_T_INT64:
        *value_p = *(const int64_t *)var->data;
        break;
    case MAT_T_SINGLE:
        *value_p = (int64_t) * (const float *)var->data;
        break;
    case MAT_T_DOUBLE:
        *value_p = (int64_t) * (const double *)var->data;
        break;
    default:
        return false;
    }
    return true;
}

/* A text in a field of row i, cut where it does not fit; other characters than ASCII as "?" where
 * the file has them in 16 bits. */
static bool get_text(matvar_t *synsets, const char *field, size_t i, char text[TC_CLASS_NAME_MAX])
{
    const matvar_t *var = Mat_VarGetStructFieldByName(synsets, field, i);
    size_t n = 0;

    if (var == NULL || var->class_type != MAT_C_CHAR)
        return false;
    bool wide = var->data_type == MAT_T_UINT16 || var->data_type == MAT_T_UTF16;
    size_t count = var->data == NULL ? 0 : var->nbytes / (wide ? 2 : 1);
    for (; n < count && n < TC_CLASS_NAME_MAX - 1; n++) {
        unsigned c =
            wide ? ((const uint16_t *)var->data)[n] : ((const unsigned char *)var->data)[n];
        text[n] = (char)(wide && c > 0x7e ? '?' : c);
    }
    while (n > 0 && n < count && ((unsigned char)text[n - 1] & 0x80) != 0)
        n--; /* cut: not in the middle of a character */
    text[n] = '\0';
    return true;
}

/* The rows of "synsets" that have no children. */
static tc_status read_synsets(const char *path, mat_t *mat, tc_buffer *synsets)
{
    matvar_t *var = Mat_VarRead(mat, "synsets");
    tc_status status = TC_OK;

    if (var == NULL || var->class_type != MAT_C_STRUCT || var->rank != 2) {
        Mat_VarFree(var);
        return tc_fail(TC_FORMAT, "%s: meta.mat has no table \"synsets\"", path);
    }
    size_t n = var->dims[0] * var->dims[1];
    for (size_t i = 0; status == TC_OK && i < n; i++) {
        tc_synset synset;
        int64_t children = 0;
        memset(&synset, 0, sizeof synset);
        if (!get_number(var, "ILSVRC2012_ID", i, &synset.id) ||
            !get_text(var, "WNID", i, synset.wnid) || synset.wnid[0] == '\0' ||
            !get_text(var, "words", i, synset.words) ||
            !get_number(var, "num_children", i, &children))
            status = tc_fail(TC_FORMAT,
                             "%s: meta.mat: row %zu of \"synsets\" lacks its ILSVRC2012_ID, WNID, "
                             "words or num_children",
                             path, i + 1);
        else if (children == 0)
            status = tc_buffer_append(synsets, &synset, sizeof synset);
    }
    Mat_VarFree(var);
    return status;
}

tc_status tc_devkit_read(const char *path, tc_buffer *synsets, tc_buffer *truth)
{
    tc_buffer meta = { 0 };
    mat_t *mat = NULL;
    int fd = -1;

    synsets->bytes = 0;
    tc_status status = read_files(path, &meta, truth);
    if (status == TC_OK)
        status = open_mat(path, &meta, &fd, &mat);
    if (status == TC_OK) {
        status = read_synsets(path, mat, synsets);
        Mat_Close(mat);
        close(fd);
    }
    tc_buffer_free(&meta);
    return status;
}

#else

tc_status tc_devkit_read(const char *path, tc_buffer *synsets, tc_buffer *truth)
{
    (void)synsets;
    (void)truth;
    return tc_fail(TC_NOSUPPORT,
                   "%s: this program was built without libmatio, which reads the kit; install it "
                   "(Debian: libmatio-dev), configure and make again, or give the classes with "
                   "--labels",
                   path);
}

#endif
