/* The lossless way from one JPEG to a plain one: its coefficients, coded anew. */
#include <config.h>

#include "image/whole.h"

#include "image/jpeg_sink.h"
#include "image/whole_impl.h"

#include <jerror.h>
#include <string.h>

typedef struct {
    tc_whole *whole;
    struct jpeg_compress_struct jpeg;
    tc_jpeg_sink sink;
    tc_buffer *out;
    tc_status refused; /* it would take too much memory */
} transcoding;

/* Everything that may jump; one error handler for both sides. */
static void transcode(transcoding *t)
{
    struct jpeg_decompress_struct *from = &t->whole->jpeg;

    jpeg_create_compress(&t->jpeg);
    tc_jpeg_sink_init(&t->sink, &t->jpeg, t->out);
    tc_whole_jpeg_renew(t->whole);
    jpeg_mem_src(from, t->whole->data, t->whole->bytes);
    jpeg_read_header(from, TRUE);
    t->refused = tc_whole_allow(t->whole, t->whole->info.w, t->whole->info.h,
                                tc_whole_jpeg_coefficients(t->whole));
    if (t->refused != TC_OK)
        return;
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(from);
    jpeg_copy_critical_parameters(from, &t->jpeg);
    t->jpeg.arith_code = FALSE;
    t->jpeg.optimize_coding = TRUE; /* as progressive and most other files are */
    jpeg_write_coefficients(&t->jpeg, coefficients);
    jpeg_finish_compress(&t->jpeg);
    jpeg_finish_decompress(from);
}

static tc_status transcode_guarded(transcoding *t)
{
    tc_jpeg_errors *errors = &t->whole->errors;

    if (setjmp(errors->jump) != 0) {
        if (t->sink.status != TC_OK)
            return t->sink.status;
        if (errors->base.msg_code == JERR_OUT_OF_MEMORY)
            return tc_fail(TC_NOMEM, "transcoding a JPEG: %s", errors->text);
        return tc_whole_fail(t->whole, TC_FAULT_UNSUPPORTED, "transcoding a JPEG: %s",
                             errors->text);
    }
    transcode(t);
    return t->refused;
}

tc_status tc_whole_transcode(tc_whole *whole, tc_buffer *out)
{
    transcoding t = { .whole = whole, .out = out };
    size_t before = out->bytes;

    if (whole->info.kind != TC_KIND_JPEG || whole->opened || whole->info.salvaged)
        return tc_fail(TC_INVAL, "only a JPEG that was decoded and is sound is transcoded");
    whole->fault = TC_FAULT_NONE;
    whole->errors.damage = whole->errors.ends = 0;
    t.jpeg.err = &whole->errors.base;
    tc_status status = transcode_guarded(&t);
    jpeg_destroy_compress(&t.jpeg); /* harmless where the creation failed */
    jpeg_abort_decompress(&whole->jpeg);
    if (status == TC_OK && whole->errors.damage > 0)
        status =
            tc_whole_fail(whole, TC_FAULT_DAMAGED, "transcoding a JPEG: %s", whole->errors.text);
    if (status != TC_OK)
        out->bytes = before;
    return status;
}

bool tc_jpeg_is_plain(const uint8_t *data, size_t bytes)
{
    size_t at = 2; /* behind SOI */
    bool baseline = false, codes = false, scan = false;

    while (!scan) { /* ITU T.81, annex B: marker segments up to the start of scan */
        while (at < bytes && data[at] == 0xff) /* any number of fill bytes */
            at++;
        if (at + 3 > bytes)
            return false;
        uint8_t marker = data[at];
        size_t length = (size_t)data[at + 1] << 8 | data[at + 2];
        if (marker == 0xc0)
            baseline = true;
        codes = codes || marker == 0xc4; /* DHT */
        if (marker == 0xdd) /* DRI */
            return false;
        scan = marker == 0xda;
        at += 1 + length;
    }
    /* In the scans 0xff is followed by 0 or by a marker. */
    for (const uint8_t *p = data + (at < bytes ? at : bytes), *end = data + bytes; p + 1 < end;
         p++) {
        p = memchr(p, 0xff, (size_t)(end - p - 1));
        if (p == NULL)
            break;
        if (p[1] >= 0xd0 && p[1] <= 0xd7)
            return false;
    }
    return baseline && codes;
}
