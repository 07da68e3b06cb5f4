#include <config.h>

#include "image/jpeg_error.h"

#include <jerror.h>
#include <stdbool.h>

static tc_jpeg_errors *errors_of(j_common_ptr jpeg)
{
    return (tc_jpeg_errors *)jpeg->err;
}

static void on_error(j_common_ptr jpeg)
{
    tc_jpeg_errors *errors = errors_of(jpeg);

    errors->base.format_message(jpeg, errors->text);
    longjmp(errors->jump, 1);
}

/* Oddities of a file whose pixels are whole all the same; ImageNet has some of each. */
static bool harmless(int code)
{
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
           code == JWRN_BOGUS_ICC;
}

static void on_message(j_common_ptr jpeg, int level)
{
    tc_jpeg_errors *errors = errors_of(jpeg);

    if (level >= 0 || harmless(errors->base.msg_code))
        return; /* a trace, or nothing that harms */
    errors->ends += errors->base.msg_code == JWRN_JPEG_EOF;
    if (errors->damage++ == 0)
        errors->base.format_message(jpeg, errors->text);
}

static void on_output(j_common_ptr jpeg)
{
    (void)jpeg; /* a library prints nothing */
}

struct jpeg_error_mgr *tc_jpeg_errors_init(tc_jpeg_errors *errors)
{
    jpeg_std_error(&errors->base);
    errors->base.error_exit = on_error;
    errors->base.emit_message = on_message;
    errors->base.output_message = on_output;
    errors->text[0] = '\0';
    errors->damage = errors->ends = 0;
    return &errors->base;
}
