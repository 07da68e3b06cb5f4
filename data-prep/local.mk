# The packer; it knows neither MPI nor a device.
bin_PROGRAMS += tricolor-pack
tricolor_pack_SOURCES = data-prep/tricolor-pack.c data-prep/commands.h \
	data-prep/archive.c data-prep/archive.h data-prep/create.c \
	data-prep/devkit.c data-prep/devkit.h data-prep/info.c data-prep/verify.c data-prep/extract.c \
	data-prep/classes.c data-prep/classes.h \
	data-prep/classmap.c data-prep/classmap.h data-prep/folder.c data-prep/folder.h \
	data-prep/journal.c data-prep/journal.h \
	data-prep/labels.c data-prep/labels.h data-prep/list.c data-prep/list.h \
	data-prep/md5.c data-prep/md5.h data-prep/sums.c data-prep/sums.h \
	data-prep/parallel.c data-prep/parallel.h data-prep/pipeline.c data-prep/pipeline.h \
	data-prep/recode.c data-prep/recode.h data-prep/source.c data-prep/source.h \
	data-prep/walk.c data-prep/walk.h
tricolor_pack_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(MATIO_CPPFLAGS)
tricolor_pack_LDADD = libtc_image.la libtc_shard.la libtc_base.la \
	$(ARCHIVE_LIBS) $(JPEG_LIBS) $(PNG_LIBS) $(JANSSON_LIBS) $(XXHASH_LIBS) $(MATIO_LIBS)

bin_PROGRAMS += tricolor-draw
tricolor_draw_SOURCES = data-prep/draw.c data-prep/scene.c data-prep/scene.h \
	data-prep/shapes.c data-prep/shapes.h
tricolor_draw_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tricolor_draw_LDADD = libtricolor.la
