#ifndef TC_NN_GOOGLENETBN_H
#define TC_NN_GOOGLENETBN_H
/**
 * @file googlenetbn.h
 * GoogLeNet with batch normalisation (BN-Inception, Ioffe and Szegedy 2015), in the form of
 * models/googlenetbn.lua of soumith/imagenet-multiGPU.torch, which the paper's network follows.
 * Private to nn; model.c knows it by name.
 *
 * Stem and grid reductions are conv, BN, ReLU; inside the blocks conv, ReLU, BN, ReLU.  Every
 * convolution has a bias, every BN eps 1e-3.  Names are torchvision's googlenet's where it has the
 * layer: "inception4a.branch2.1.conv"; the grid reductions are "reduce3" and "reduce4".
 */
#include "nn/model.h"

/** Smallest input with an auxiliary head: its window of 5 needs the maps that 224 pixels leave. */
#define TC_GOOGLENETBN_AUX_SIZE 224

/** Add everything after the input: features, classifier and loss, then, unless aux is
 *  TC_AUX_NONE, the auxiliary head and its loss.  Errors stay in the graph. */
void tc_googlenetbn_build(tc_graph *graph, int64_t classes, tc_aux aux);

#endif
