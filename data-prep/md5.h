#ifndef TC_PACK_MD5_H
#define TC_PACK_MD5_H
/**
 * @file md5.h
 * MD5 (RFC 1321), which ImageNet's files are published with; no guard against intent.
 *
 * Our own 60 lines: no library that we need has it.  Flow: tc_md5_start() -> tc_md5_add() …
 * -> tc_md5_text().  Used by: archive, create.
 */
#include <stddef.h>
#include <stdint.h>

#define TC_MD5_TEXT 33 /* 32 hexadecimal digits and NUL */

typedef struct {
    uint32_t state[4];
    uint64_t bytes;
    uint8_t block[64]; /* what does not fill one yet */
} tc_md5;

void tc_md5_start(tc_md5 *md5);
void tc_md5_add(tc_md5 *md5, const void *data, size_t bytes);
/** The sum of everything added; ends the computation. */
void tc_md5_text(tc_md5 *md5, char text[TC_MD5_TEXT]);

#endif
