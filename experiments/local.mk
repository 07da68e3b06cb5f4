# The published figures and the experiments, installed beside each other.
publisheddir = $(pkgdatadir)/published
dist_published_DATA = experiments/published/README experiments/published/ablation.tsv \
	experiments/published/networks.tsv experiments/published/results.tsv \
	experiments/published/throughput.tsv
ablationdir = $(pkgdatadir)/experiments/ablation
dist_ablation_SCRIPTS = experiments/ablation/run experiments/ablation/plot
dist_ablation_DATA = experiments/ablation/README
precisiondir = $(pkgdatadir)/experiments/precision
dist_precision_SCRIPTS = experiments/precision/run
dist_precision_DATA = experiments/precision/README
