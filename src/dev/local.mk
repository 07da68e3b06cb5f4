# A backend adds its sources here, and a line to dev.c's list.
noinst_LTLIBRARIES += libtc_dev.la
libtc_dev_la_SOURCES = src/dev/backend.h src/dev/dev.c src/dev/dev.h

# ref: the sources in ref_step are compiled twice, for float and for double.  (Not -O3: the user's
# -O2 comes later and would win.)
ref_fast = -ftree-vectorize -fvect-cost-model=dynamic
libtc_dev_la_SOURCES += src/dev/ref/ref.c src/dev/ref/plan.c src/dev/ref/engine.h
ref_step = src/dev/ref/step.c src/dev/ref/compile.c src/dev/ref/conv.c src/dev/ref/norm.c \
	src/dev/ref/pool.c src/dev/ref/point.c src/dev/ref/loss.c src/dev/ref/step.h
noinst_LTLIBRARIES += libtc_ref_f32.la libtc_ref_f64.la
libtricolor_la_LIBADD += libtc_ref_f32.la libtc_ref_f64.la
libtc_ref_f32_la_SOURCES = $(ref_step)
libtc_ref_f32_la_CFLAGS = $(AM_CFLAGS) $(ref_fast)
libtc_ref_f64_la_SOURCES = $(ref_step)
libtc_ref_f64_la_CPPFLAGS = $(AM_CPPFLAGS) -DREF_DOUBLE=1
libtc_ref_f64_la_CFLAGS = $(AM_CFLAGS) $(ref_fast)

# oneDNN.  Vector extensions and `omp simd` do the work in kernels.c; it needs no -O3,
# and no fused multiply-add, so that its variants give the same bits.
if HAVE_DNNL
noinst_LTLIBRARIES += libtc_onednn.la
libtricolor_la_LIBADD += libtc_onednn.la
libtc_onednn_la_CPPFLAGS = $(AM_CPPFLAGS) $(DNNL_CPPFLAGS)
libtc_onednn_la_CFLAGS = $(AM_CFLAGS) $(DNNL_CFLAGS) -Wno-psabi -ffp-contract=off
libtc_onednn_la_SOURCES = src/dev/onednn/onednn.h src/dev/onednn/onednn.c \
	src/dev/onednn/dnnl_api.c src/dev/onednn/compile.c src/dev/onednn/plan.c \
	src/dev/onednn/prims.c src/dev/onednn/layers.c src/dev/onednn/bn.c src/dev/onednn/loss.c \
	src/dev/onednn/run.c src/dev/onednn/profile.c src/dev/onednn/kernels.c \
	src/dev/onednn/kernels.h src/dev/onednn/kernels_variant.h src/dev/onednn/lanes.h
endif
