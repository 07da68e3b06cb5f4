/* Write a meta.mat like that of ILSVRC2012's development kit.
 *   mat FILE [wide]   from lines "ID WNID CHILDREN words …" of standard input
 * Numbers are doubles, or uint16 with `wide`, which also stores texts in 16 bits, as MATLAB may. */
#include <config.h>

#include <matio.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 2000

static matvar_t *number(double value, bool wide)
{
    size_t dims[2] = { 1, 1 };
    uint16_t small = (uint16_t)value;

    return wide ? Mat_VarCreate(NULL, MAT_C_UINT16, MAT_T_UINT16, 2, dims, &small, 0)
                : Mat_VarCreate(NULL, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, &value, 0);
}

static matvar_t *text(const char *value, bool wide)
{
    size_t dims[2] = { 1, strlen(value) };
    uint16_t letters[256];

    if (!wide)
        return Mat_VarCreate(NULL, MAT_C_CHAR, MAT_T_UTF8, 2, dims, (char *)(uintptr_t)value, 0);
    for (size_t i = 0; i < dims[1]; i++)
        letters[i] = (unsigned char)value[i];
    return Mat_VarCreate(NULL, MAT_C_CHAR, MAT_T_UINT16, 2, dims, letters, 0);
}

int main(int argc, char **argv)
{
    static const char *const fields[] = { "ILSVRC2012_ID", "WNID", "words", "num_children" };
    static struct {
        int id, children;
        char wnid[64], words[200];
    } rows[ROWS_MAX];
    size_t n = 0;
    bool wide = argc > 2;
    mat_t *mat = argc > 1 ? Mat_CreateVer(argv[1], NULL, MAT_FT_MAT5) : NULL;

    while (n < ROWS_MAX && scanf("%d %63s %d %199[^\n]", &rows[n].id, rows[n].wnid,
                                 &rows[n].children, rows[n].words) == 4)
        n++;
    size_t dims[2] = { n, 1 };
    matvar_t *synsets =
        Mat_VarCreateStruct("synsets", 2, dims, (const char **)(uintptr_t)fields, 4);
    if (mat == NULL || n == 0 || synsets == NULL) {
        fputs("mat: wrong use\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < n; i++) {
        Mat_VarSetStructFieldByName(synsets, fields[0], i, number(rows[i].id, wide));
        Mat_VarSetStructFieldByName(synsets, fields[1], i, text(rows[i].wnid, wide));
        Mat_VarSetStructFieldByName(synsets, fields[2], i, text(rows[i].words, wide));
        Mat_VarSetStructFieldByName(synsets, fields[3], i, number(rows[i].children, wide));
    }
    int rc = Mat_VarWrite(mat, synsets, MAT_COMPRESSION_ZLIB);
    Mat_VarFree(synsets);
    Mat_Close(mat);
    return rc == 0 ? 0 : 1;
}
