# One convenience library a room; only libtricolor.la lists them all (libtool would else define
# symbols twice).
lib_LTLIBRARIES += libtricolor.la
libtricolor_la_SOURCES =
if SIM_BUILD # under SimGrid, only what sends; see sim/local.mk
libtricolor_la_LIBADD = libtc_allreduce.la libtc_timing.la libtc_comm.la libtc_base.la
else
libtricolor_la_LIBADD = libtc_train.la libtc_table.la libtc_loader.la libtc_store.la \
	libtc_allreduce.la libtc_timing.la libtc_comm.la libtc_dev.la libtc_nn.la libtc_image.la libtc_shard.la \
	libtc_report.la libtc_base.la \
	$(DNNL_LIBS) $(JPEG_LIBS) $(PNG_LIBS) $(JANSSON_LIBS) $(XXHASH_LIBS) $(HWLOC_LIBS)
endif
libtricolor_la_LDFLAGS = -no-undefined -version-info 0:0:0

include src/base/local.mk
include src/comm/local.mk
include src/timing/local.mk
include src/allreduce/local.mk
if !SIM_BUILD
include src/image/local.mk
include src/shard/local.mk
include src/store/local.mk
include src/loader/local.mk
include src/nn/local.mk
include src/dev/local.mk
include src/table/local.mk
include src/train/local.mk
include src/report/local.mk
include src/app/local.mk
endif
