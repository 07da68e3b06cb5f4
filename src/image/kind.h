#ifndef TC_IMAGE_KIND_H
#define TC_IMAGE_KIND_H
/**
 * @file kind.h
 * What a file is, by its content: names of files are not believed.
 * Used by: whole.h, data-prep.
 */
#include <stddef.h>

/** X-macro table: name, how it is called in a message. */
#define TC_KIND_TABLE(X)                                \
    X(EMPTY, "an empty file")                           \
    X(JPEG, "a JPEG")                                   \
    X(PNG, "a PNG")                                     \
    X(GIF, "a GIF")                                     \
    X(BMP, "a BMP")                                     \
    X(WEBP, "a WebP picture")                           \
    X(TIFF, "a TIFF")                                   \
    X(HEIF, "a HEIF or AVIF picture")                   \
    X(JPEG2000, "a JPEG 2000 picture")                  \
    X(JPEGXL, "a JPEG XL picture")                      \
    X(ICON, "an icon")                                  \
    X(PHOTOSHOP, "a Photoshop file")                    \
    X(NETPBM, "a PBM, PGM or PPM")                      \
    X(PDF, "a PDF")                                     \
    X(GZIP, "a gzip file")                              \
    X(ZIP, "a zip archive")                             \
    X(MARKUP, "HTML, XML or SVG (a web server's answer?)") \
    X(ZEROS, "nothing but zeros (a lost block?)")       \
    X(TEXT, "text")                                     \
    X(UNKNOWN, "of an unknown kind")

typedef enum {
#define X(name, text) TC_KIND_##name,
    TC_KIND_TABLE(X)
#undef X
} tc_kind;

#define TC_KIND_BYTES 512 /* the most of a file that is looked at */

/** Tell a file by its first bytes; @p bytes may be fewer than the file has. */
tc_kind tc_kind_of(const void *data, size_t bytes);

/** "a GIF", …; a fixed text. */
const char *tc_kind_name(tc_kind kind);

#endif
