#ifndef TC_IMAGE_JPEG_ERROR_H
#define TC_IMAGE_JPEG_ERROR_H
/**
 * @file jpeg_error.h
 * How libjpeg's errors become statuses: errors jump back, warnings are remembered, nothing is
 * printed.  Private to image/.
 */
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs FILE */

#include <jpeglib.h>

typedef struct {
    struct jpeg_error_mgr base; /* first: libjpeg hands back a pointer to it */
    jmp_buf jump;
    char text[JMSG_LENGTH_MAX]; /* of the error, or of the first warning that means damage */
    int damage;                 /* warnings after which the pixels cannot be trusted */
    int ends;                   /* of them: the data ended without an end marker */
} tc_jpeg_errors;

/** Fill @p errors; returns what belongs into cinfo->err. */
struct jpeg_error_mgr *tc_jpeg_errors_init(tc_jpeg_errors *errors);

#endif
