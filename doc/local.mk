EXTRA_DIST += doc/INTERFACES
dist_man_MANS += doc/tricolor-draw.1
