# Whole networks against PyTorch; networks.py makes the values (needs torch, torchvision, numpy).
reference_values = tests/reference/networks
EXTRA_DIST += tests/reference/networks.py tests/reference/twins.py $(reference_values)/resnet18-64.txt \
	$(reference_values)/resnet50-64.txt $(reference_values)/googlenetbn-64.txt
check_PROGRAMS += tests/reference/t-reference.n1
tests_reference_t_reference_n1_SOURCES = tests/reference/t-reference.c
tests_reference_t_reference_n1_LDADD = libtricolor.la
TESTS += tests/reference/t-reference.n1
