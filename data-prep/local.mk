
bin_PROGRAMS += tricolor-draw
tricolor_draw_SOURCES = data-prep/draw.c data-prep/scene.c data-prep/scene.h \
	data-prep/shapes.c data-prep/shapes.h
tricolor_draw_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tricolor_draw_LDADD = libtricolor.la
