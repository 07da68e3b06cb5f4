EXTRA_DIST += doc/INTERFACES doc/PERFORMANCE
dist_man_MANS += doc/tricolor-draw.1 doc/tricolor-report.1 doc/tricolor-train.1 doc/tricolor-allreduce.1
dist_man_MANS += doc/tricolor-pack.1
dist_doc_DATA = doc/FORMAT doc/PICTURES
